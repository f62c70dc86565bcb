package event

import (
	"fmt"
	"strings"
)

// RunsMax bounds how many runs of offsets an event tells; of more the newest are told.
const RunsMax = 64

// RunsText writes runs of offsets, each the first and the last, as events tell them: 0-176,180-182.
func RunsText(runs [][2]Offset) string {
	texts := make([]string, len(runs))
	for i, run := range runs {
		texts[i] = fmt.Sprintf("%d-%d", run[0], run[1])
	}
	return strings.Join(texts, ",")
}
