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

// readyTimeout bounds a start, and stopTimeout a stop: Highwater promises to end within 2 s, and
// a busy machine gets a little more.
const (
	readyTimeout = 30 * time.Second
	stopTimeout  = 5 * time.Second
)

// server is the Highwater under test.
type server struct {
	Brokers map[string]string
	Page    string
	cmd     *exec.Cmd
	ended   chan error
}

func startServer(ctx context.Context, bin, data string) (*server, error) {
	cmd := exec.CommandContext(ctx, filepath.Join(bin, "highwater"), "serve", "--json",
		"--http", "127.0.0.1:0", "--kafka", "127.0.0.1:0,127.0.0.1:0,127.0.0.1:0",
		"--data", data,
		// As the golden cluster: fewer files for the dump tool, each of which takes it a second.
		"--set", "transaction.state.log.num.partitions=5")
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	s := &server{cmd: cmd, ended: make(chan error, 1)}
	lines := make(chan string, 1)
	go func() {
		reader := bufio.NewReader(out)
		line, _ := reader.ReadString('\n')
		lines <- line
		_, _ = io.Copy(io.Discard, reader)
		s.ended <- cmd.Wait()
	}()
	select {
	case line := <-lines:
		if err := json.Unmarshal([]byte(line), s); err != nil || len(s.Brokers) != 3 {
			s.kill()
			return nil, fmt.Errorf("highwater said %q instead of that it is ready", line)
		}
		return s, nil
	case <-time.After(readyTimeout):
		s.kill()
		return nil, fmt.Errorf("highwater was not ready after %v", readyTimeout)
	}
}

// bootstrap is the brokers' addresses, comma-separated.
func (s *server) bootstrap() string {
	var list []string
	for _, id := range []string{"1", "2", "3"} {
		list = append(list, s.Brokers[id])
	}
	return strings.Join(list, ",")
}

func (s *server) kill() { _ = s.cmd.Process.Kill() }

func stopServer(_ context.Context, l *lab) error {
	began := time.Now()
	if err := l.server.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		return err
	}
	select {
	case err := <-l.server.ended:
		if err != nil {
			return fmt.Errorf("it ended with %w after %v", err, time.Since(began))
		}
		return nil
	case <-time.After(stopTimeout):
		return fmt.Errorf("it had not ended after %v", stopTimeout)
	}
}

// runProbe lets the differential probe ask what we serve.
func runProbe(ctx context.Context, l *lab) error {
	folder := filepath.Join(filepath.Dir(l.source), "probe")
	cmd := exec.CommandContext(ctx, filepath.Join(l.bin, "probe"),
		"-brokers", l.server.bootstrap(),
		"-golden", filepath.Join(folder, "golden-kafka-4.4.0.jsonl"),
		"-known", filepath.Join(folder, "known-differences.jsonl"),
		"-run", strings.Join(servedAreas, "|"))
	out, err := cmd.CombinedOutput()
	if err != nil {
		return fmt.Errorf("%w\n%s", err, out)
	}
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	fmt.Println("     " + lines[len(lines)-1])
	return nil
}

// servedAreas are the areas of the probe whose APIs Highwater serves; KIP-848 groups and shares are
// not among them yet.
var servedAreas = []string{"^api-versions/", "^framing/", "^metadata/", "^topics/", "^configs/",
	"^produce/", "^idempotence/", "^fetch/", "^list-offsets/", "^leader-epoch/",
	"^groups/", "^group-offsets/", "^transactions/",
	"^admin/(topic-partitions|elect-leaders|describe-quorum)"}

// soak runs every scenario of the library with many seeds; each run checks its own trace.
func soak(ctx context.Context, o options) error {
	files, err := filepath.Glob(filepath.Join("scenarios", "*.md"))
	if err != nil {
		return err
	}
	if len(files) == 0 {
		return errors.New("there is no scenario here: run make soak at the top of the project")
	}
	slices.Sort(files)
	broken := 0
	for seed := 1; seed <= o.soak && ctx.Err() == nil; seed++ {
		for _, file := range files {
			cmd := exec.CommandContext(ctx, filepath.Join(o.bin, "highwater"), "run", file,
				"--seed", fmt.Sprint(seed), "--quiet")
			if out, err := cmd.CombinedOutput(); err != nil {
				broken++
				fmt.Printf("FAIL %s with seed %d: %v\n%s\n", file, seed, err, out)
			}
		}
		fmt.Printf("seed %d of %d done\n", seed, o.soak)
	}
	if broken > 0 {
		return fmt.Errorf("%d runs failed", broken)
	}
	return ctx.Err()
}
