package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

// startTimeout bounds how long a server may take until it says that it is ready, and stopTimeout
// how long it may take to end when asked.
const (
	startTimeout = 30 * time.Second
	stopTimeout  = 10 * time.Second
)

// server is one child process that serves three brokers.
type server struct {
	label   string
	brokers string // addresses, comma-separated
	cmd     *exec.Cmd
}

func (s *server) pid() int { return s.cmd.Process.Pid }

// stop asks the process to end, and ends it when it does not.
func (s *server) stop() {
	_ = s.cmd.Process.Signal(syscall.SIGTERM)
	done := make(chan struct{})
	go func() {
		_ = s.cmd.Wait()
		close(done)
	}()
	select {
	case <-done:
	case <-time.After(stopTimeout):
		_ = s.cmd.Process.Kill()
		<-done
	}
}

func startKfake(ctx context.Context, bin, scratch string, fsync bool) (*server, error) {
	args := []string{"-ports", "0,0,0", "-dir", filepath.Join(scratch, "kfake")}
	if fsync {
		args = append(args, "-sync")
	}
	s, line, err := start(ctx, "kfake", filepath.Join(bin, "kfaked"), args...)
	if err != nil {
		return nil, err
	}
	s.brokers = line
	return s, nil
}

func startHighwater(ctx context.Context, bin, scratch string) (*server, error) {
	s, line, err := start(ctx, "highwater", filepath.Join(bin, "highwater"), "serve", "--json",
		"--http", "127.0.0.1:0", "--kafka", "127.0.0.1:0,127.0.0.1:0,127.0.0.1:0",
		"--data", filepath.Join(scratch, "highwater"),
		// The peer unlinks a deleted topic at once. Kafka's minute would leave each run's files to
		// hold the page cache of the next, whose pages then cost ten times as much.
		"--set", "log.segment.delete.delay.ms=100")
	if err != nil {
		return nil, err
	}
	var ready struct {
		Brokers map[string]string
	}
	if err := json.Unmarshal([]byte(line), &ready); err != nil {
		s.stop()
		return nil, fmt.Errorf("highwater said %q: %w", line, err)
	}
	var addresses []string
	for _, address := range ready.Brokers {
		addresses = append(addresses, address)
	}
	slices.Sort(addresses)
	s.brokers = strings.Join(addresses, ",")
	return s, nil
}

// start runs a server and returns with its first line, which it prints when it is ready.
func start(ctx context.Context, label, path string, args ...string) (*server, string, error) {
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, "", err
	}
	if err := cmd.Start(); err != nil {
		return nil, "", err
	}
	s := &server{label: label, cmd: cmd}
	lines := make(chan string, 1)
	go func() {
		reader := bufio.NewReader(out)
		line, _ := reader.ReadString('\n')
		lines <- strings.TrimSpace(line)
		_, _ = io.Copy(io.Discard, reader)
	}()
	select {
	case line := <-lines:
		if line == "" {
			s.stop()
			return nil, "", errors.New(label + " ended before it was ready")
		}
		return s, line, nil
	case <-time.After(startTimeout):
		s.stop()
		return nil, "", fmt.Errorf("%s was not ready after %v", label, startTimeout)
	}
}
