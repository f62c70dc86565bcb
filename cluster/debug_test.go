package cluster

import (
	"os"
	"strings"
	"testing"
)

func dump(t *testing.T, s *tape, kinds string) {
	if os.Getenv("DUMP") == "" {
		return
	}
	for _, l := range s.lines {
		for _, k := range strings.Split(kinds, ",") {
			if strings.Contains(l, `"event":"`+k+`"`) {
				println(l)
			}
		}
	}
}
