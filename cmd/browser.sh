#!/usr/bin/env bash
# Prints the path of a Chromium or Chrome, installing one with the system's package manager when
# that needs no question: as root, with apt-get. Anywhere else it says the one command to give.
set -euo pipefail

find_browser() {
  local name
  for name in "${CHROMIUM:-}" chromium chromium-browser google-chrome google-chrome-stable; do
    if [ -n "$name" ] && command -v "$name"; then return 0; fi
  done
  local mac="/Applications/Google Chrome.app/Contents/MacOS/Google Chrome"
  if [ -x "$mac" ]; then echo "$mac"; return 0; fi
  return 1
}

find_browser && exit 0
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
  export DEBIAN_FRONTEND=noninteractive
  apt-get update -qq >&2 </dev/null
  apt-get install -y -qq --no-install-recommends chromium >&2 </dev/null
  find_browser && exit 0
fi
case "$(uname -s)" in
Darwin) command="brew install --cask google-chrome" ;;
*) command="sudo apt-get install chromium" ;;
esac
echo "the browser tests need Chromium or Chrome; give this once: $command" >&2
exit 1
