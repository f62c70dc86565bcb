package commitlog

import (
	"fmt"
	"path"
	"strconv"
	"strings"

	"highwater/cluster/event"
)

// The extensions of the files in a partition's directory.
const (
	extLog       = ".log"
	extIndex     = ".index"
	extTimeIndex = ".timeindex"
	extTxnIndex  = ".txnindex"
	extSnapshot  = ".snapshot"
)

// The suffixes that say what state a file is in.
const (
	suffixDeleted = ".deleted" // left the log, waits to be unlinked
	suffixCleaned = ".cleaned" // the cleaner's unfinished output
	suffixSwap    = ".swap"    // the cleaner's finished output, about to replace originals
	// suffixTemporary ends the name of a file that is being written and will replace another.
	suffixTemporary = ".tmp"
)

const (
	epochCheckpointFile   = "leader-epoch-checkpoint"
	partitionMetadataFile = "partition.metadata"
	offsetDigits          = 20
)

// segmentExts are a segment's files, in the order in which they are renamed away: the log first, so
// that after a crash in between no log without its indexes poses as a live segment.
var segmentExts = [...]string{extLog, extIndex, extTimeIndex, extTxnIndex}

// FileName is the name of a segment's file: the 20-digit base offset and the extension.
func FileName(base event.Offset, ext string) string {
	return fmt.Sprintf("%0*d%s", offsetDigits, int64(base), ext)
}

func (l *Log) name(base event.Offset, ext string) string {
	return path.Join(l.dir, FileName(base, ext))
}

// parseName splits a file's name into its offset and what follows.
func parseName(name string) (base event.Offset, ext string, ok bool) {
	if len(name) <= offsetDigits || name[offsetDigits] != '.' {
		return 0, "", false
	}
	offset, err := strconv.ParseInt(name[:offsetDigits], 10, 64)
	if err != nil || offset < 0 || strings.ContainsAny(name[:1], "+-") {
		return 0, "", false
	}
	return event.Offset(offset), name[offsetDigits:], true
}
