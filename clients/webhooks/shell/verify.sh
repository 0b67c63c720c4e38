#!/bin/sh
# Verifies deliveries of webhooks. One file, any POSIX shell with openssl: copy it.
#
#   verify.sh < body
#
# Standard input is the body as it came in. The headers are variables, named as web servers name them for programs (CGI):
#   HTTP_WEBHOOK_ID HTTP_WEBHOOK_TIMESTAMP HTTP_WEBHOOK_SIGNATURE HTTP_X_SERVICE_SIGNATURE
# Each secret that is given must be borne out by its header:
#   WEBHOOK_SECRET             the webhook's own, whsec_...; several with spaces between while you change to the next.
#                              Its signature covers id and time, so a delivery cannot be sent again by others.
#   WEBHOOK_DEPLOYMENT_SECRET  of the whole service, for X-Service-Signature; covers the body alone.
# WEBHOOK_NOW, seconds since 1970, takes the place of the clock.
#
# Exit status: 0, and the id on standard output (the same at every attempt: skip what you have seen); 1, and the reason on
# standard error (missing_header, invalid_timestamp, outside_tolerance, wrong_signature); 2 where it cannot be told.
# Secrets are handed to no program as an argument, where others on the machine could see them.
set -eu
LC_ALL=C
export LC_ALL
TOLERANCE_SECONDS=300

refuse() {
  echo "$1" >&2
  exit 1
}
give_up() {
  echo "$1" >&2
  exit 2
}

# standard input in hexadecimal digits
hex() { od -An -v -tx1 | tr -d ' \n'; }

# hexadecimal digits, xor a number, as escapes of printf; at least as many bytes as the third argument
escaped() {
  digits=$1
  count=0
  text=
  while [ -n "$digits" ] || [ "$count" -lt "$3" ]; do
    byte=00
    if [ -n "$digits" ]; then
      rest=${digits#??}
      byte=${digits%"$rest"}
      digits=$rest
    fi
    number=$((0x$byte ^ $2))
    text="$text\\$((number / 64))$((number / 8 % 8))$((number % 8))"
    count=$((count + 1))
  done
  printf %s "$text"
}

digest() { openssl dgst -sha256 -binary | hex; }

# HMAC-SHA256 of standard input, both key and answer in hexadecimal digits
hmac() {
  key=$1
  # a block is 64 bytes; a longer key counts by its digest
  [ "${#key}" -le 128 ] || key=$(printf "$(escaped "$key" 0 0)" | digest)
  inner=$({ printf "$(escaped "$key" 54 64)"; cat; } | digest)
  { printf "$(escaped "$key" 92 64)"; printf "$(escaped "$inner" 0 0)"; } | digest
}

# Compares digests under a key that nobody knows, so that the time says nothing about where two texts differ.
blind=$(openssl rand -hex 32) || give_up 'openssl is missing'
is_same() { [ "$(printf %s "$1" | hmac "$blind")" = "$(printf %s "$2" | hmac "$blind")" ]; }

[ -n "${WEBHOOK_SECRET-}${WEBHOOK_DEPLOYMENT_SECRET-}" ] || give_up 'Set WEBHOOK_SECRET to verify with'
umask 077
body=$(mktemp) || give_up 'no temporary file could be made'
trap 'rm -f "$body"' EXIT
trap 'exit 2' HUP INT TERM
cat >"$body"

if [ -n "${WEBHOOK_DEPLOYMENT_SECRET-}" ]; then
  [ -n "${HTTP_X_SERVICE_SIGNATURE-}" ] || refuse missing_header
  expected=$(hmac "$(printf %s "$WEBHOOK_DEPLOYMENT_SECRET" | hex)" <"$body")
  is_same "$HTTP_X_SERVICE_SIGNATURE" "sha256=$expected" || refuse wrong_signature
fi

if [ -n "${WEBHOOK_SECRET-}" ]; then
  [ -n "${HTTP_WEBHOOK_ID-}" ] && [ -n "${HTTP_WEBHOOK_TIMESTAMP-}" ] && [ -n "${HTTP_WEBHOOK_SIGNATURE-}" ] ||
    refuse missing_header
  case $HTTP_WEBHOOK_TIMESTAMP in
    *[!0-9]* | ?????????????*) refuse invalid_timestamp ;;
  esac
  # a number with zeros in front would be taken for an octal one
  sent=$HTTP_WEBHOOK_TIMESTAMP
  while [ "${sent#0}" != "$sent" ] && [ "${#sent}" -gt 1 ]; do sent=${sent#0}; done
  age=$((${WEBHOOK_NOW:-$(date +%s)} - sent))
  [ "${age#-}" -le "$TOLERANCE_SECONDS" ] || refuse outside_tolerance

  set -f # the values are separated by spaces, and are no patterns
  fits=no
  for secret in $WEBHOOK_SECRET; do
    key=$(printf '%s\n' "${secret#whsec_}" | openssl base64 -d -A | hex)
    [ -n "$key" ] || give_up 'A secret is whsec_ and base64'
    signed=$({ printf '%s.%s.' "$HTTP_WEBHOOK_ID" "$HTTP_WEBHOOK_TIMESTAMP"; cat "$body"; } | hmac "$key")
    expected=v1,$(printf "$(escaped "$signed" 0 0)" | openssl base64 -A)
    # for a day after a rotation there are two: one by each secret
    for value in $HTTP_WEBHOOK_SIGNATURE; do
      case $value in
        v1,*) if is_same "$value" "$expected"; then fits=yes; fi ;;
      esac
    done
  done
  [ "$fits" = yes ] || refuse wrong_signature
fi
printf '%s\n' "${HTTP_WEBHOOK_ID-}"
