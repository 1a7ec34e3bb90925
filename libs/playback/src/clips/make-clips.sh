#!/bin/sh
# Renders the clips of this folder; README.md lists what it needs. Run it after changing a text, and look at the result.
set -eu
cd "$(dirname "$0")"

FONTS=${FONTS:-/usr/share/fonts/opentype/inter}
DURATION=8
INK=0x0d1b1e
MINT=0x58d6a8
PAPER=0xf3f7f5
MUTED=0x9fb4b0

# cause, headline, and the two sentences of the cause's message in CAUSE_ANSWERS: what happened, what to do
clip() {
  name=$1 headline=$2 what=$3 advice=$4
  text() { # size, weight, colour, x, y, words
    printf "drawtext=fontfile=%s/Inter-%s.otf:fontsize=%s:fontcolor=%s:x=%s:y=%s:text='%s'" "$FONTS" "$2" "$1" "$3" "$4" "$5" "$6"
  }
  # Only the stripe moves, which keeps the file small.
  ffmpeg -v error -y \
    -f lavfi -i "color=c=$INK:s=1280x720:r=24:d=$DURATION" \
    -f lavfi -i "color=c=$MINT:s=220x6:r=24:d=$DURATION" \
    -f lavfi -i "anullsrc=r=44100:cl=stereo" \
    -filter_complex "[0]drawbox=x=96:y=104:w=14:h=44:color=$MINT:t=fill,drawbox=x=118:y=88:w=14:h=60:color=$MINT:t=fill,drawbox=x=140:y=72:w=14:h=76:color=$MINT:t=fill,\
$(text 36 SemiBold "$PAPER" 178 104 "Pacekeeper"),\
$(text 76 Bold "$PAPER" 96 236 "$headline"),\
$(text 44 Regular "$PAPER" 96 358 "$what"),\
$(text 44 Regular "$PAPER" 96 420 "$advice"),\
$(text 30 Regular "$MUTED" 96 548 "Nothing on this TV needs fixing."),\
drawbox=x=96:y=624:w=1088:h=6:color=0x24383b:t=fill[still];\
[still][1]overlay=x='96+868*(0.5-0.5*cos(t*PI/2))':y=624:eval=frame,format=yuv420p[picture]" \
    -map '[picture]' -map 2:a -t "$DURATION" \
    -c:v libx264 -profile:v baseline -level 3.1 -preset veryslow -crf 28 -g 192 -keyint_min 96 -x264-params scenecut=0 \
    -c:a aac -b:a 32k \
    -movflags +faststart -fflags +bitexact -flags:v +bitexact -flags:a +bitexact -map_metadata -1 -metadata comment="$what $advice" \
    "$name.mp4"
}

clip dependency_timeout 'One moment, please' \
  'The video is taking too long to arrive.' 'Please try again in a few seconds.'

clip broker_error 'This video did not start' \
  'The video could not be loaded.' 'Please try again in half a minute.'

clip redis_unavailable 'We will be right back' \
  'The service is being restored.' 'Please try again in a few seconds.'
