#!/bin/sh
# Stands for the crontab of a host: every TICK seconds it starts the lines that are due, each in the background, as crond
# does. A file DIR/jobs/SLUG is one line: "EVERY ANCHOR MODE", where MODE says what is wrong with the job today. Everything
# that happens is noted in DIR/log: "DUE SLUG run MODE" and "DUE SLUG curl EXIT-CODE".
#
# usage: crontab.sh DIR ROLLCALL PING_KEY PROXY
set -u
TICK=6
dir=$1 rollcall=$2 key=$3 proxy=$4

note() { echo "$due $job $*" >>"$dir/log"; }

# The snippet of docs/pinging.md; later options win.
ping() {
  curl -fsS -m 10 --retry 5 --retry-connrefused -o /dev/null "$@" 2>>"$dir/errors"
  note curl $?
}

work() {
  echo '14 of 15 tables dumped'
  [ "$1" -eq 0 ] || echo 'pg_dump: error: <invoices> & co: No space left on device' >&2
  return "$1"
}

go() { until [ -e "$dir/go-$job" ]; do sleep 1; done; }

uuid() { cat /proc/sys/kernel/random/uuid 2>/dev/null || uuidgen; }

once() {
  rid=$(uuid)
  ping "$at/start?rid=$rid"
  work 0 >/dev/null
  ping "$at/0?rid=$rid"
}

line() {
  at=$rollcall/ping/$key/$job
  case $mode in
    ok) work 0 >/dev/null; ping "$at/$?" ;;
    output)
      ping "$at/start"
      output=$(work 0 2>&1)
      ping --data-raw "$output" "$at/$?"
      ;;
    silent) ;;
    fails)
      work 7 >"$dir/$job.out" 2>&1
      ping --data-binary "@$dir/$job.out" "$at/$?"
      ;;
    # Waits for a lock before it begins, and after it has begun.
    late) go; work 0 >/dev/null; ping "$at/$?" ;;
    slow) ping "$at/start"; go; work 0 >/dev/null; ping "$at/$?" ;;
    late-quick) sleep 7; ping "$at/0" ;;
    # Two hosts with the same crontab.
    twice) once & once & wait ;;
    wrong-key) ping "$rollcall/ping/no-key-of-this-project/$job/0" ;;
    wrong-slug) ping "$rollcall/ping/$key/$job-typo/0" ;;
    proxied) work 0 >"$dir/$job.out"; ping --data-binary "@$dir/$job.out" "$proxy/ping/$key/$job/$?" ;;
    # A connection that breaks is no reason to come again for --retry alone.
    proxied-all-errors) ping --retry-all-errors "$proxy/ping/$key/$job/0" ;;
    # Nobody wants to wait for 10 s here.
    proxied-hurry) ping -m 2 "$proxy/ping/$key/$job/0" ;;
  esac
}

while :; do
  now=$(date +%s)
  sleep $((TICK - now % TICK))
  now=$(date +%s)
  due=$((now - now % TICK))
  for file in "$dir"/jobs/*; do
    job=${file##*/}
    [ -e "$file" ] && read -r every anchor mode <"$file" || continue
    [ $(((due - anchor) % every)) -eq 0 ] || continue
    note run "$mode"
    line &
  done
  job=-
  note tick
done
