#!/usr/bin/env bash
# Starts gradegate in its image, on the network of the runner: what an earlier step started on 127.0.0.1 is there as it is.
# The container is given the variables that are named here and no other, two folders, and not the socket of Docker.
set -euo pipefail

# Of `node: official`, and nothing else of it than the program; .github/node keeps it up to date.
node_image=node:22.18.0-slim@sha256:752ea8a2f758c34002a0461bd9f1cee4f9a3c36d48494586f60ffce1fc708e0e

give_up() { # decision, exit code, what is wrong, what to do
  echo "::error::$3 -> $4"
  printf 'decision=%s\n' "$1" >>"$GITHUB_OUTPUT"
  printf '### gradegate could not run\n\nNothing was asked of any model. %s: %s.\n' "$3" "$4" >>"$GITHUB_STEP_SUMMARY"
  exit "$2"
}

if ! command -v docker >/dev/null; then
  give_up mistake 2 "there is no docker here" \
    "use a runner with Linux and Docker; in a job with 'container:' write OWNER/gradegate/container in place of OWNER/gradegate"
fi

image=${GRADEGATE_IMAGE#docker://}
if [ -z "$image" ]; then
  image=$(docker build --quiet "$GITHUB_ACTION_PATH") || give_up inconclusive 3 "the image cannot be built" "see the log"
elif ! docker image inspect "$image" >/dev/null 2>&1; then
  docker pull --quiet "$image" >/dev/null || give_up inconclusive 3 "the image cannot be pulled" "see the log"
fi

names=(
  GRADEGATE_INPUTS GRADEGATE_ENV GRADEGATE_MATRIX CI
  GITHUB_ACTION GITHUB_ACTION_PATH GITHUB_ACTIONS GITHUB_ACTOR GITHUB_ACTOR_ID GITHUB_API_URL GITHUB_BASE_REF
  GITHUB_EVENT_NAME GITHUB_EVENT_PATH GITHUB_GRAPHQL_URL GITHUB_HEAD_REF GITHUB_JOB GITHUB_OUTPUT GITHUB_REF
  GITHUB_REF_NAME GITHUB_REF_PROTECTED GITHUB_REF_TYPE GITHUB_REPOSITORY GITHUB_REPOSITORY_ID GITHUB_REPOSITORY_OWNER
  GITHUB_REPOSITORY_OWNER_ID GITHUB_RUN_ATTEMPT GITHUB_RUN_ID GITHUB_RUN_NUMBER GITHUB_SERVER_URL GITHUB_SHA
  GITHUB_STEP_SUMMARY GITHUB_TRIGGERING_ACTOR GITHUB_WORKFLOW GITHUB_WORKFLOW_REF GITHUB_WORKFLOW_SHA GITHUB_WORKSPACE
  RUNNER_ARCH RUNNER_ENVIRONMENT RUNNER_NAME RUNNER_OS RUNNER_TEMP
  ACTIONS_ID_TOKEN_REQUEST_TOKEN ACTIONS_ID_TOKEN_REQUEST_URL
  HTTP_PROXY HTTPS_PROXY NO_PROXY http_proxy https_proxy no_proxy
)
variables=()
for name in "${names[@]}"; do
  if [ -n "${!name+set}" ]; then variables+=(--env "$name"); fi
done

# A Node.js for code of the repository is one file, which is read alone: no folder of the runner comes with it.
mounts=()
node=${GRADEGATE_NODE:-}
if [[ $node == /* ]]; then
  if [ -d "$node" ]; then
    if [ -f "$node/bin/node" ]; then node=$node/bin/node; else node=$node/node; fi
  fi
  if [ ! -x "$node" ]; then
    give_up mistake 2 "the input 'node' leads to no Node.js" \
      "name the folder of actions/setup-node's, as docs/exec.md does, or give 'node: official'"
  fi
  mounts=(--volume "$node:$node:ro")
elif [ "$node" = official ]; then
  node=$RUNNER_TEMP/gradegate-node
  made=$(docker create "$node_image") && docker cp "$made:/usr/local/bin/node" "$node" >/dev/null ||
    give_up inconclusive 3 "the image of Node.js cannot be pulled" "see the log, or name a folder by the input 'node'"
  docker rm "$made" >/dev/null
  mounts=(--volume "$node:/usr/local/bin/node:ro")
fi

# The paths are those of the runner, so that what a workflow writes, such as ${{ runner.temp }}/x, is the same file inside.
# Nothing comes between the runner and docker: a signal that cancels the job reaches gradegate.
exec docker run --rm --pull never --network host --env GRADEGATE_NETWORK=host --security-opt no-new-privileges \
  --volume "$GITHUB_WORKSPACE:$GITHUB_WORKSPACE" --volume "$RUNNER_TEMP:$RUNNER_TEMP" --workdir "$GITHUB_WORKSPACE" \
  "${mounts[@]}" "${variables[@]}" "$image"
