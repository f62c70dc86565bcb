package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unsafe"
)

// procStat is what the kernel has counted so far for this process, for the
// server process, and for the whole machine.
type procStat struct {
	when                        time.Time
	self                        float64 // CPU seconds of this process
	server                      float64 // CPU seconds of the server, with its reaped children
	busy, steal                 float64 // CPU seconds of the machine
	syscr, syscw, wchar, wbytes float64 // server I/O
	rss                         float64 // server resident MiB
	haveServer                  bool
}

const clockTicks = 100 // USER_HZ on every Linux we run on

// pids is a flag: one or several server processes, separated by commas.
type pids []int

func (p *pids) String() string { return fmt.Sprint(*p) }

func (p *pids) Set(v string) error {
	for w := range strings.SplitSeq(v, ",") {
		n, err := strconv.Atoi(w)
		if err != nil {
			return err
		}
		*p = append(*p, n)
	}
	return nil
}

// readProc adds up the server's processes.
func readProc(server pids) procStat {
	s := procStat{when: time.Now()}
	var ru syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &ru) == nil {
		s.self = tv(ru.Utime) + tv(ru.Stime)
	}
	if b, err := os.ReadFile("/proc/stat"); err == nil {
		line, _, _ := bytes.Cut(b, []byte("\n"))
		f := strings.Fields(string(line))
		n := func(i int) float64 {
			if i >= len(f) {
				return 0
			}
			v, _ := strconv.ParseFloat(f[i], 64)
			return v / clockTicks
		}
		s.busy = n(1) + n(2) + n(3) + n(6) + n(7) // user nice system irq softirq
		s.steal = n(8)
	}
	for _, pid := range server {
		s.addServer(pid)
	}
	return s
}

func (s *procStat) addServer(pid int) {
	if b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid)); err == nil {
		if i := bytes.LastIndexByte(b, ')'); i > 0 {
			f := strings.Fields(string(b[i+1:]))
			if len(f) > 22 {
				s.server += processCPU(pid)
				pages, _ := strconv.ParseFloat(f[21], 64)
				s.rss += pages * float64(os.Getpagesize()) / (1 << 20)
				s.haveServer = true
			}
		}
	}
	if b, err := os.ReadFile(fmt.Sprintf("/proc/%d/io", pid)); err == nil {
		for line := range strings.SplitSeq(string(b), "\n") {
			k, v, _ := strings.Cut(line, ": ")
			n, _ := strconv.ParseFloat(v, 64)
			switch k {
			case "syscr":
				s.syscr += n
			case "syscw":
				s.syscw += n
			case "wchar":
				s.wchar += n
			case "write_bytes":
				s.wbytes += n
			}
		}
	}
}

// processCPU reads another process's CPU clock in nanoseconds, where
// /proc/PID/stat has ticks of 10 ms.
func processCPU(pid int) float64 {
	const cpuclockSched = 2
	clock := uintptr(uint32(^int32(pid)<<3 | cpuclockSched))
	var ts syscall.Timespec
	if _, _, e := syscall.Syscall(syscall.SYS_CLOCK_GETTIME, clock, uintptr(unsafe.Pointer(&ts)), 0); e != 0 {
		return 0
	}
	return float64(ts.Sec) + float64(ts.Nsec)/1e9
}

func tv(t syscall.Timeval) float64 { return float64(t.Sec) + float64(t.Usec)/1e6 }

// addProc adds who used the CPU during the run. "other_cpu_pct" is what
// neither load nor the server used, steal included, as a share of the whole
// machine: a high value says the run was disturbed.
func addProc(r *result, a, b procStat) (otherPct float64) {
	wall := b.when.Sub(a.when).Seconds()
	if wall <= 0 {
		return 0
	}
	cores := float64(numCPU())
	r.add("client_cores", (b.self-a.self)/wall)
	other := (b.busy - a.busy) - (b.self - a.self) + (b.steal - a.steal)
	if a.haveServer && b.haveServer {
		r.add("server_cores", (b.server-a.server)/wall)
		other -= b.server - a.server
		r.add("server_rss_mib", b.rss)
		r.add("server_read_calls", b.syscr-a.syscr)
		r.add("server_write_calls", b.syscw-a.syscw)
		r.add("server_write_mib", (b.wchar-a.wchar)/(1<<20))
	}
	otherPct = max(0, 100*other/(wall*cores))
	r.add("other_cpu_pct", otherPct)
	return otherPct
}

// awaitQuiet returns when other processes used less than pct of the machine
// for half a second, or at the deadline.
func awaitQuiet(ctx context.Context, pid pids, pct float64, deadline time.Time) {
	for ctx.Err() == nil && time.Now().Before(deadline) {
		a := readProc(pid)
		time.Sleep(500 * time.Millisecond)
		if addProc(&result{}, a, readProc(pid)) < pct {
			return
		}
	}
}

// cpuMeter measures CPU per record over exactly the timed part of a run.
type cpuMeter struct {
	pid pids
	s   procStat
}

func startCPU(pid pids) cpuMeter { return cpuMeter{pid, readProc(pid)} }

func (m cpuMeter) add(r *result, records int) {
	e := readProc(m.pid)
	if records <= 0 {
		return
	}
	r.add("client_us_per_rec", 1e6*(e.self-m.s.self)/float64(records))
	if m.s.haveServer && e.haveServer {
		r.add("server_us_per_rec", 1e6*(e.server-m.s.server)/float64(records))
	}
}

// beginTimed warms the memory and reads what the timed part is measured against.
func (c *config) beginTimed() (cpuMeter, error) {
	err := warmMemory(c.warm)
	cpu := startCPU(c.pid)
	c.warmed = cpu.s
	return cpu, err
}

// warmMemory touches memory as page cache and gives it back. On a virtual machine the host backs a
// page on its first touch and takes free pages away again within seconds, so this comes right before
// the timed part: else whoever writes first, or most, pays for the host.
func warmMemory(mebibytes int) error {
	if mebibytes <= 0 {
		return nil
	}
	f, err := os.CreateTemp("", "load-warm-")
	if err != nil {
		return err
	}
	block := make([]byte, 1<<20)
	for range mebibytes {
		if _, err = f.Write(block); err != nil {
			break
		}
	}
	return errors.Join(err, f.Close(), os.Remove(f.Name()))
}
