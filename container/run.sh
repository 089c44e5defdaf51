#!/usr/bin/env bash
# Starts gradegate in its image, on the network of the runner: what an earlier step started on 127.0.0.1 is there as it is.
# docs/for-reviewers.md lists what the container may do and see; all of it is decided here.
set -euo pipefail

# Of `node: official`, and nothing else of it than the program; .github/node keeps it up to date.
node_image=node:22.18.0-slim@sha256:752ea8a2f758c34002a0461bd9f1cee4f9a3c36d48494586f60ffce1fc708e0e

# The words of a path: `..` takes the folder before it away, and no link is asked where it leads.
plain() ( # path
  set -f
  IFS=/ path=
  for word in $1; do
    case $word in
      '' | .) ;;
      ..) path=${path%/*} ;;
      *) path=$path/$word ;;
    esac
  done
  printf '%s\n' "$path"
)

workspace=$(plain "$GITHUB_WORKSPACE")

is_behind_link() { # path in the workspace
  local folder=${1%/*}
  while [ "$folder" != "$workspace" ]; do
    if [ -L "$folder" ]; then return 0; fi
    folder=${folder%/*}
  done
  return 1
}

# A checkout may bring a file along that has the name of a report, and a later step would take it for one. gradegate removes
# such files itself; here they go before anything can end this step. What stays, gradegate refuses.
unremoved=
remove_reports() {
  local folder=${GRADEGATE_FOLDER-} output path LC_ALL=C
  if [[ $folder != /* ]]; then folder=$workspace/$folder; fi
  while read -r output; do
    # gradegate reads the same lines, but knows more characters that end one: only where there is none do both see one path.
    if [[ $output == *[!\ -~]* ]]; then unremoved=$output; fi
    if [[ $output == /* ]]; then path=$(plain "$output"); else path=$(plain "$folder/$output"); fi
    if [[ -z $output || $path != "$workspace"/* || $path == */.git/* ]]; then continue; fi
    if [[ ! -e $path && ! -L $path ]]; then continue; fi
    if is_behind_link "$path" || ! rm -f -- "$path" 2>/dev/null; then unremoved=$output; fi
  done <<<"${GRADEGATE_OUTPUT-}"
}
remove_reports

give_up() { # decision, exit code, what is wrong, what to do
  echo "::error::$3 -> $4"
  if [ -n "$unremoved" ]; then
    set -- mistake 2 "the output \`${unremoved//[^[:print:]]/?}\` may still be a file of the checkout" \
      "remove it from the repository, and name the report with characters of ASCII"
    echo "::error::$3 -> $4"
  fi
  printf 'decision=%s\n' "$1" >>"$GITHUB_OUTPUT"
  printf '### gradegate could not run\n\nNothing was asked of any model. %s: %s.\n' "$3" "$4" >>"$GITHUB_STEP_SUMMARY"
  exit "$2"
}

if ! command -v docker >/dev/null || [ ! -r /proc/meminfo ]; then
  give_up mistake 2 "there is no Docker on Linux here" \
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
  RUNNER_ARCH RUNNER_ENVIRONMENT RUNNER_NAME RUNNER_OS
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
named=${GRADEGATE_INPUTS//"$node"/}
if [[ $node == /* ]]; then
  if [ -d "$node" ]; then
    if [ -f "$node/bin/node" ]; then node=$node/bin/node; else node=$node/node; fi
  fi
  if [ ! -x "$node" ]; then
    give_up mistake 2 "the input 'node' leads to no Node.js" \
      "name the folder of actions/setup-node's, as docs/code.md does, or give 'node: official'"
  fi
  mounts=(--volume "$node:$node:ro")
elif [ "$node" = official ]; then
  node=$RUNNER_TEMP/gradegate-node
  made=$(docker create "$node_image") && docker cp "$made:/usr/local/bin/node" "$node" >/dev/null ||
    give_up inconclusive 3 "the image of Node.js cannot be pulled" "see the log, or name a folder by the input 'node'"
  docker rm "$made" >/dev/null
  mounts=(--volume "$node:/usr/local/bin/node:ro")
fi

# Earlier steps leave keys and tokens in RUNNER_TEMP. One folder of it is for gradegate.
own=$RUNNER_TEMP/gradegate
mkdir -p "$own" || give_up inconclusive 3 "the folder $own cannot be made" "see the log"
if [[ ${named//"$own"[\/\"\\]/} == *"$RUNNER_TEMP"* ]]; then
  give_up mistake 2 "an input names a file of RUNNER_TEMP that the container does not see" \
    'put it below ${{ runner.temp }}/gradegate'
fi

# Root of the container, because files belong to whoever runs the runner and code of the repository to a user of its own:
# it reads and writes files of others (DAC_OVERRIDE), changes their owner and mode (CHOWN, FOWNER), becomes another user
# (SETUID, SETGID) and ends what runs as one (KILL). tests/container/test_composite.py proves the need of each.
rights=(--cap-drop ALL --security-opt no-new-privileges)
for capability in CHOWN DAC_OVERRIDE FOWNER KILL SETGID SETUID; do rights+=(--cap-add "$capability"); done

# Three quarters of the memory, without swap: the runner and the application of an earlier step go on.
read -r _ kib _ </proc/meminfo
memory=$((kib * 3 / 4))k
limits=(--pids-limit 4096 --memory "$memory" --memory-swap "$memory")

# Nothing of the image can be written. RUNNER_TEMP and the home are one empty folder of root's, in which the mounts lie.
files=(
  --read-only --tmpfs /tmp:exec,size=1g --tmpfs "$RUNNER_TEMP:mode=0700,size=16m" --env "HOME=$RUNNER_TEMP"
  --volume "$GITHUB_WORKSPACE:$GITHUB_WORKSPACE" --volume "$own:$own" --env "RUNNER_TEMP=$own"
  --volume "$GITHUB_OUTPUT:$GITHUB_OUTPUT" --volume "$GITHUB_STEP_SUMMARY:$GITHUB_STEP_SUMMARY"
  --volume "$GITHUB_EVENT_PATH:$GITHUB_EVENT_PATH:ro"
)

# The paths are those of the runner, so that what a workflow writes, such as ${{ github.workspace }}/x, is the same file inside.
# Nothing comes between the runner and docker: a signal that cancels the job reaches gradegate.
exec docker run --rm --pull never --network host --env GRADEGATE_NETWORK=host --workdir "$GITHUB_WORKSPACE" \
  "${rights[@]}" "${limits[@]}" "${files[@]}" "${mounts[@]}" "${variables[@]}" "$image"
