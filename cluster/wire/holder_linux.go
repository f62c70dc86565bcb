package wire

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// holderOf finds the process that listens on a TCP port, from what Linux tells of sockets and
// descriptors. It is empty when that cannot be seen.
func holderOf(port int) string {
	inodes := map[string]bool{}
	for _, table := range []string{"/proc/net/tcp", "/proc/net/tcp6"} {
		listeningInodes(table, port, inodes)
	}
	if len(inodes) == 0 {
		return ""
	}
	links, _ := filepath.Glob("/proc/[0-9]*/fd/*") // the pattern is a good one
	for _, link := range links {
		target, err := os.Readlink(link)
		if err != nil || !inodes[target] {
			continue
		}
		process := strings.Split(link, "/")[2]
		name, err := os.ReadFile("/proc/" + process + "/comm")
		if err != nil {
			return "process " + process
		}
		return fmt.Sprintf("%s (process %s)", strings.TrimSpace(string(name)), process)
	}
	return ""
}

// listeningInodes adds the sockets of one table that listen on a port, as descriptors name them.
func listeningInodes(table string, port int, inodes map[string]bool) {
	const stateListen, local, state, inode = "0A", 1, 3, 9
	file, err := os.Open(table)
	if err != nil {
		return
	}
	defer file.Close()
	for lines := bufio.NewScanner(file); lines.Scan(); {
		fields := strings.Fields(lines.Text())
		if len(fields) <= inode || fields[state] != stateListen {
			continue
		}
		_, hex, _ := strings.Cut(fields[local], ":")
		if n, err := strconv.ParseUint(hex, 16, 16); err == nil && int(n) == port {
			inodes["socket:["+fields[inode]+"]"] = true
		}
	}
}
