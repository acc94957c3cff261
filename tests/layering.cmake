# The walls of the house, checked by CTest. Three tables say all:
#
# 1. Which folder may include which. A folder always includes itself; what is not named here is
#    refused, and so is a folder that has no line. Rooms never include each other: only ci/ knows
#    them all, but for kernels/, which it reaches through the process `bench`.
set(walls
  "model:                "
  "model/gpu:            model"
  "model/gate:           model"
  "model/history:        model"
  "model/record:         model"
  "model/plan:           model model/record"
  "model/predict/parts:  model model/predict"
  "model/predict:        model model/predict/parts"

  "kernels:              model"
  "kernels/stand_in:     "
  "kernels/device:       kernels model model/record"
  "kernels/capture:      model model/record"
  "kernels/calibrate:    kernels kernels/device model"
  "kernels/bench:        kernels kernels/device kernels/stand_in model model/record"
  "kernels/sweep:        kernels kernels/bench kernels/device model model/predict/parts"
  "kernels/gemm/host:    kernels"
  "kernels/examples:     kernels"
  "kernels/examples/host: kernels kernels/examples"
  "kernels/examples/cuda: kernels kernels/examples"
  "kernels/gemm/cuda:    kernels"
  "kernels/gemm/cuda/blackwell: kernels"
  "kernels/gemm/cuda/configurations: kernels"
  "kernels/gemm/cuda/controls: kernels"
  "kernels/gemm/cuda/dual: kernels"
  "kernels/gemm/cuda/grouped: kernels"
  "kernels/gemm/cuda/ladder: kernels"
  "kernels/gemm/cuda/nvfp4: kernels"
  "kernels/gemm/cuda/odd_k: kernels"
  "kernels/gemm/cuda/persistent: kernels"
  "kernels/gemm/cuda/scaled: kernels"
  "kernels/gemm/cuda/small: kernels"
  "kernels/gemm/cuda/split: kernels"

  "runner/child:         model"
  "runner/git:           runner/child model"
  "runner/code:          runner/child runner/git model model/plan"
  "runner/build:         runner/child runner/git runner/code model"
  "runner/bench:         runner/child runner/git runner/code model model/record model/plan"

  "baselines:            model model/*"
  "baselines/exchange:   baselines model model/*"
  "baselines/migrations: baselines"

  "reports/text:         model"
  "reports:              reports/text model model/*"
  "reports/charts:       reports reports/text model model/*"
  "reports/site:         reports reports/text reports/charts model model/*"
  "reports/formats:      reports reports/text reports/charts model model/*"

  "ci/settings:          others"
  "ci/gate:              ci/settings others"
  "ci/history:           ci/settings others"
  "ci/site:              ci/settings ci/history others"
  "ci/init:              ci/settings others"
  "ci/manual:            ci others"
  "ci/commands:          ci ci/init ci/settings ci/gate ci/history ci/site others"
  "ci:                   ci/settings others")
# What `others` stands for in ci/: every other room but kernels/.
set(others "model model/* runner/* baselines reports reports/*")

# 2. Headers that the build writes stand in these folders.
set(written "ci/commands.inc ci" "ci/commit.inc ci" "baselines/migrations.inc baselines" "baselines/importers.inc baselines" "kernels/devices.inc kernels"
            "model/predict.inc model" "model/gpu.inc model" "reports/formats.inc reports"
            "reports/assets.inc reports/text")

# 3. Third-party headers (a regex), and the rooms that may include each.
set(owned "git2 runner" "elf|link runner|kernels" "spawn.h|sys/resource.h runner" "sys/wait.h runner|kernels"
          "sqlite3.h baselines" "libxml/ reports" "argp.h ci" "z3.h model"
          "cuda|cublas|nvml|cupti|cblas|linux/seccomp.h kernels")

# ---- the check ----

# allowed(<result> <folder> <list>): whether the folder is named, or stands below a name/*.
function(allowed result folder list)
  set(${result} FALSE PARENT_SCOPE)
  string(REPLACE " " ";" names "${list}")
  foreach(name IN LISTS names)
    if(name STREQUAL folder)
      set(${result} TRUE PARENT_SCOPE)
    elseif(name MATCHES "^(.*)/\\*$")
      string(FIND "${folder}/" "${CMAKE_MATCH_1}/" at)
      if(at EQUAL 0)
        set(${result} TRUE PARENT_SCOPE)
      endif()
    endif()
  endforeach()
endfunction()

# may(<result> <folder>): what the table says of a folder.
function(may result folder)
  foreach(wall IN LISTS walls)
    if(wall MATCHES "^${folder}: *(.*)$")
      string(REGEX REPLACE "(^| )others$" "\\1${others}" list "${CMAKE_MATCH_1}")
      set(${result} "${list}" PARENT_SCOPE)
      return()
    endif()
  endforeach()
  message(SEND_ERROR "${folder}/ has no line in tests/layering.cmake: say what it may include")
endfunction()

# The folder an included path stands in.
function(folder_of result path)
  get_filename_component(folder ${path} DIRECTORY)
  foreach(rule IN LISTS written)
    string(REGEX MATCH "^([^ ]+) ([^ ]+)$" unused "${rule}")
    if(path STREQUAL CMAKE_MATCH_1)
      set(folder ${CMAKE_MATCH_2})
    endif()
  endforeach()
  set(${result} ${folder} PARENT_SCOPE)
endfunction()

foreach(room model kernels runner baselines reports ci)
  file(GLOB_RECURSE files ${ROOT}/${room}/*.c ${ROOT}/${room}/*.h ${ROOT}/${room}/*.cu
    ${ROOT}/${room}/*.cuh)
  foreach(file IN LISTS files)
    file(STRINGS ${file} includes REGEX "^[ \t]*#[ \t]*include")
    file(RELATIVE_PATH shown ${ROOT} ${file})
    get_filename_component(folder ${shown} DIRECTORY)
    may(list ${folder})
    foreach(line IN LISTS includes)
      if(line MATCHES "\"((ci|runner|model|kernels|baselines|reports|tests)/[^\"]+)\"")
        folder_of(wanted ${CMAKE_MATCH_1})
        allowed(fine ${wanted} "${folder} ${list}")
        if(NOT fine)
          message(SEND_ERROR "${shown}: ${folder}/ may not include ${wanted}/: ${line}")
        endif()
      endif()
      foreach(rule IN LISTS owned)
        string(REGEX MATCH "^([^ ]+) ([a-z|]+)$" unused "${rule}")
        set(header ${CMAKE_MATCH_1})
        set(owner ${CMAKE_MATCH_2})
        if(line MATCHES "<(${header})" AND NOT room MATCHES "^(${owner})$")
          message(SEND_ERROR "${shown}: only ${owner}/ may include ${header}: ${line}")
        endif()
      endforeach()
    endforeach()
  endforeach()
endforeach()
