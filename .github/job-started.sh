#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# On the machine of a GPU runner, outside of its folder: refuses every job that is not gpu.yml, asked.yml or nightly.yml of
# the main branch, before its first step. A pull request may bring workflows of its own that ask for this runner, and no
# setting of this repository's files prevents that. Put it there with your repository's name in it, and name it in the
# runner's `.env`:
#
#   sed 's|OWNER/REPOSITORY|you/yours|' .github/job-started.sh >/opt/plumb/job-started.sh
#   ACTIONS_RUNNER_HOOK_JOB_STARTED=/opt/plumb/job-started.sh
#
# GitHub sets GITHUB_WORKFLOW_REF and GITHUB_EVENT_NAME, and no workflow can. Exit 1: the job does not run.
set -eu
workflows=OWNER/REPOSITORY/.github/workflows
case "$GITHUB_EVENT_NAME $GITHUB_WORKFLOW_REF" in
"pull_request_target $workflows/gpu.yml@refs/heads/main") ;;
"issue_comment $workflows/asked.yml@refs/heads/main") ;;
"schedule $workflows/nightly.yml@refs/heads/main") ;;
"workflow_dispatch $workflows/nightly.yml@refs/heads/main") ;;
*)
	echo "this runner runs no $GITHUB_EVENT_NAME of $GITHUB_WORKFLOW_REF"
	exit 1
	;;
esac
