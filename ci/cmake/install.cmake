# What `cmake --install` puts below the prefix, and the Debian package that `cpack` makes of it.
include(GNUInstallDirs)
set(CMAKE_INSTALL_DEFAULT_COMPONENT_NAME plumbline)
install(TARGETS plumb DESTINATION ${CMAKE_INSTALL_BINDIR})
# Not on the PATH: others may have a program of that name.
install(TARGETS bench DESTINATION libexec/plumbline)
if(TARGET plumb_capture)
  install(TARGETS plumb_capture DESTINATION libexec/plumbline)
endif()
install(FILES ${CMAKE_SOURCE_DIR}/kernels/kernel.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
  RENAME plumb_kernel.h)
install(DIRECTORY ${CMAKE_BINARY_DIR}/share/ DESTINATION share PATTERN written EXCLUDE)

# pkg-config --cflags plumbline: the header alone, and wherever the prefix is moved to.
file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/plumbline.pc @ONLY CONTENT
"prefix=\${pcfiledir}/../..
Name: plumbline
Description: The ABI by which plumb measures a library's kernels
Version: @PROJECT_VERSION@
Cflags: -I\${prefix}/@CMAKE_INSTALL_INCLUDEDIR@
")
install(FILES ${CMAKE_BINARY_DIR}/plumbline.pc DESTINATION share/pkgconfig)

set(doc share/doc/plumbline)
install(FILES ${CMAKE_SOURCE_DIR}/ci/assets/copyright.txt DESTINATION ${doc}
  RENAME copyright)
set(script ${CMAKE_SOURCE_DIR}/ci/cmake/debian_changelog.sh)
set(contact "The authors of plumbline <maintainers@example.org>")
find_program(GZIP gzip)
if(GZIP)
  add_custom_command(OUTPUT ${CMAKE_BINARY_DIR}/changelog.gz VERBATIM
    COMMAND sh -c "sh '${script}' ${PROJECT_VERSION} '${contact}' CHANGELOG.md | '${GZIP}' -9nc \
>'${CMAKE_BINARY_DIR}/changelog.gz'"
    WORKING_DIRECTORY ${CMAKE_SOURCE_DIR} DEPENDS ${CMAKE_SOURCE_DIR}/CHANGELOG.md ${script})
  add_custom_target(changelog ALL DEPENDS ${CMAKE_BINARY_DIR}/changelog.gz)
  install(FILES ${CMAKE_BINARY_DIR}/changelog.gz DESTINATION ${doc})
endif()

# A part and a package of its own: Z3 is 27 MB, and a second opinion.
if(TARGET plumb_z3_module)
  install(TARGETS plumb_z3_module DESTINATION libexec/plumbline COMPONENT z3)
  install(FILES ${CMAKE_SOURCE_DIR}/ci/assets/copyright.txt DESTINATION ${doc}-z3
    RENAME copyright COMPONENT z3)
  if(GZIP)
    install(FILES ${CMAKE_BINARY_DIR}/changelog.gz DESTINATION ${doc}-z3 COMPONENT z3)
  endif()
endif()

# The scripts that a CI system calls, and the pages, in folders as here, so that their links lead on.
set(scripts share/plumbline/ci)
install(PROGRAMS ${CMAKE_SOURCE_DIR}/ci/nightly ${CMAKE_SOURCE_DIR}/ci/fleet
  ${CMAKE_SOURCE_DIR}/ci/comment DESTINATION ${scripts})
foreach(page ci/guide/COMMANDS.md ci/guide/FAQ.md ci/guide/TROUBLESHOOTING.md ci/guide/TUTORIAL.md
    ci/gate/README.md kernels/CAPTURE.md kernels/PLANS.md model/WORDS.md .github/RUNNERS.md)
  get_filename_component(folder ${page} DIRECTORY)
  install(FILES ${CMAKE_SOURCE_DIR}/${page} DESTINATION ${doc}/${folder})
endforeach()
install(DIRECTORY ${CMAKE_SOURCE_DIR}/ci/examples DESTINATION ${doc}/ci)

# All that is installed, and no test or kernel: what ci/quickstart builds.
add_custom_target(installed)
foreach(part plumb bench plumb_capture pages changelog plumb_z3_module)
  if(TARGET ${part})
    add_dependencies(installed ${part})
  endif()
endforeach()

set(CPACK_GENERATOR DEB)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_PLUMBLINE_PACKAGE_NAME plumbline)
set(CPACK_DEBIAN_PLUMBLINE_PACKAGE_SUGGESTS plumbline-z3)
set(CPACK_DEBIAN_Z3_PACKAGE_NAME plumbline-z3)
set(CPACK_DEBIAN_Z3_PACKAGE_DEPENDS "plumbline (= ${PROJECT_VERSION})")
set(CPACK_DEBIAN_Z3_DESCRIPTION
"With this part plumb optimise asks Z3 too: what its search over tilings found is
held to what Z3 proves by itself.")
set(CPACK_PACKAGE_NAME plumbline)
set(CPACK_PACKAGE_CONTACT "${contact}")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "performance regressions of GPU kernels, found per commit")
set(CPACK_DEBIAN_PLUMBLINE_DESCRIPTION
"plumb builds the kernels of each commit, measures them side by side with their
baseline on the same device memory, and says which kernel got slower, on which
shape, since which commit, how sure it is, and why.")
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION devel)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PLUMBLINE_PACKAGE_RECOMMENDS "bubblewrap, gcc")
# Where there is one part only, CPack makes no part of it and looks at what is said of the whole.
if(NOT TARGET plumb_z3_module)
  set(CPACK_DEBIAN_PACKAGE_DESCRIPTION "${CPACK_DEBIAN_PLUMBLINE_DESCRIPTION}")
  set(CPACK_DEBIAN_PACKAGE_RECOMMENDS "${CPACK_DEBIAN_PLUMBLINE_PACKAGE_RECOMMENDS}")
endif()
set(CPACK_STRIP_FILES ON)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE
  GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
include(CPack)
