package main

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net"
	"net/url"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"highwater/cluster"
	"highwater/cluster/client"
	"highwater/cluster/event"
	"highwater/cluster/wire"
	"highwater/cluster/world"
	"highwater/scenarios"
	"highwater/scenarios/lesson"
	"highwater/server"
	"highwater/static"
	"highwater/viz/hub"
	"highwater/viz/trace"
	"highwater/web"
)

const (
	inputLogBytesMax  = 32 << 20
	recordedEventsMax = 400_000
	readyTimeout      = 30 * time.Second
	readyPoll         = 10 * time.Millisecond
	gcPercent         = 200
	stopTimeout       = 2 * time.Second
)

// serveCommand runs a cluster and its page until it is interrupted.
func serveCommand(args []string, stdout, stderr io.Writer) int {
	flags, err := parseServe(args, stderr)
	if errors.Is(err, flag.ErrHelp) {
		return 0
	}
	if err != nil {
		fmt.Fprintln(stderr, "highwater:", err)
		return 2
	}
	// The live heap is small and the garbage short-lived: collecting less often costs little memory.
	debug.SetGCPercent(gcPercent)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	m, err := startMain(flags, stderr)
	if err != nil {
		complain(stderr, "%v%s", err, advice(err))
		return 1
	}
	if err := m.untilReady(ctx); err != nil {
		complain(stderr, "%v%s", err, advice(err))
		m.close()
		return 1
	}
	m.announce(stdout)
	if flags.open {
		openBrowser(m.pageAddress())
	}
	<-ctx.Done()
	stop() // a second interrupt ends the program at once
	if err := m.closeInTime(); err != nil {
		fmt.Fprintln(stderr, "highwater: stopping:", err)
		return 1
	}
	return 0
}

// advice is what to do about an error that does not say it itself.
func advice(err error) string {
	if errors.Is(err, syscall.EMFILE) {
		return " (ulimit -n is the number of files that may be open; 1024 are enough to begin with)"
	}
	return ""
}

// closeInTime stops cleanly, but not for ever: whoever interrupts a program wants it to end.
func (m *mainWorld) closeInTime() error {
	done := make(chan error, 1)
	go func() { done <- m.close() }()
	select {
	case err := <-done:
		return err
	case <-time.After(stopTimeout):
		return fmt.Errorf("not stopped after %v; the next start recovers the logs", stopTimeout)
	}
}

// mainWorld is the running program: one live cluster, its hub and its page.
type mainWorld struct {
	flags    *serveFlags
	cluster  *cluster.Cluster
	hub      *hub.Hub
	server   *server.Server
	lessons  *lesson.Lessons
	live     *scenarios.Live
	listener net.Listener
	token    string
	viewers  string // the token of those who only look
	data     string
	log      *slog.Logger
}

// startMain wires everything. The page's port is taken first: it is the one most often taken by
// another program, and nothing has to be undone then.
func startMain(flags *serveFlags, stderr io.Writer) (*mainWorld, error) {
	level := slog.LevelWarn
	if flags.verbose {
		level = slog.LevelDebug
	}
	m := &mainWorld{flags: flags,
		log: slog.New(slog.NewTextHandler(stderr, &slog.HandlerOptions{Level: level}))}
	m.token = flags.token
	if m.token == "" {
		m.token = rand.Text()
	}
	m.viewers = flags.viewerToken
	if m.viewers == "" {
		m.viewers = rand.Text()
	}
	var err error
	if m.listener, err = net.Listen("tcp", flags.http); err != nil {
		return nil, fmt.Errorf("the page's address %s cannot be used: %w%s; "+
			"give another one, or port 0 for any free one: --http 127.0.0.1:0", flags.http, err,
			wire.HeldBy(flags.http, err))
	}
	if m.data, err = dataDirectory(flags); err != nil {
		return nil, errors.Join(err, m.listener.Close())
	}
	if err := m.startCluster(); err != nil {
		return nil, errors.Join(err, m.listener.Close())
	}
	if err := m.startServer(); err != nil {
		return nil, errors.Join(err, m.cluster.Close(), m.closeHub(), m.listener.Close())
	}
	return m, nil
}

// dataDirectory is the given one, or a fresh one in the user's cache.
func dataDirectory(flags *serveFlags) (string, error) {
	if flags.memory {
		return "", nil
	}
	if flags.data != "" {
		return filepath.Abs(flags.data)
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("no cache directory for the data: %w; give --data or --memory", err)
	}
	parent := filepath.Join(cache, "highwater")
	if err := os.MkdirAll(parent, 0o755); err != nil {
		return "", fmt.Errorf("data directory: %w; give --data or --memory", err)
	}
	return os.MkdirTemp(parent, time.Now().Format("20060102-150405-"))
}

func (m *mainWorld) startCluster() error {
	for _, name := range slices.Sorted(maps.Keys(m.flags.settings)) {
		if !cluster.SettingCounts(name) {
			m.log.Warn("a setting is only described to clients, and changes nothing here", "name", name)
		}
	}
	origin := time.Now()
	m.hub = hub.New(hub.Config{Run: rand.Text(), Header: trace.Header{
		Seed: int64(m.flags.seed), Origin: origin.UnixMilli(), Software: cluster.Version},
		EventsMax: recordedEventsMax, Truncated: m.recordingTruncated})
	config := cluster.Config{Seed: m.flags.seed, Origin: origin, Live: true,
		DataDir: m.data, Kafka: m.flags.kafkaAddresses(), Events: m.hub, Log: m.log,
		Settings: m.flags.settings, InputLogBytesMax: inputLogBytesMax}
	if m.flags.noEvents {
		config.Events = nil
	}
	c, err := cluster.New(config)
	if err != nil {
		return err
	}
	m.cluster = c
	if err := c.Start(); err != nil {
		return errors.Join(err, c.Close())
	}
	c.World().OnPace(m.paceChanged)
	c.Run()
	return nil
}

func (m *mainWorld) recordingTruncated(events, from int64) {
	event.RecordingTruncated{Events: events, From: from}.
		Emit(m.cluster.World().Events(), event.RuleNone)
}

// paceChanged tells the page how time runs now.
func (m *mainWorld) paceChanged(pace world.Pace) {
	m.hub.SetPace(hub.NewPace(pace.Rate, pace.Paused, m.cluster.World().Now()))
}

func (m *mainWorld) startServer() error {
	files, err := static.Serve()
	if err != nil {
		return err
	}
	host, _, _ := net.SplitHostPort(m.flags.http)
	hosts := m.flags.hosts()
	if !isLoopback(host) {
		hosts = append(hosts, reachable(host)...)
	}
	m.live, m.lessons = scenarios.NewLive(m.cluster, m.hub), lesson.New(m.log)
	m.server = server.New(server.Config{Main: server.World{Hub: m.hub, Commands: commander{m.live},
		Batches: m, Page: m.page, Save: m.save}, Lessons: lessonWorlds{m, m.lessons},
		Ready: m.ready, Token: m.token, ViewerToken: m.viewers, AskToken: !isLoopback(host),
		Hosts: hosts, Static: files, Log: m.log})
	go func() {
		if err := m.server.Serve(m.listener); err != nil {
			m.log.Error("the page is gone", "error", err)
		}
	}()
	return nil
}

func (m *mainWorld) page() web.Page {
	p := web.Page{WorldID: "main", Token: m.token, Version: cluster.Version,
		Library: library(), Story: story()}
	for _, id := range m.cluster.Brokers() {
		p.Brokers = append(p.Brokers, web.Node{ID: int(id), Address: m.cluster.Addresses()[id]})
	}
	for _, id := range m.cluster.Controllers() {
		p.Controllers = append(p.Controllers, web.Node{ID: int(id)})
	}
	return p
}

// save writes what was done by hand as a scenario.
func (m *mainWorld) save() []byte {
	given, complete := m.live.Given()
	of := &scenarios.Scenario{Title: "a live session", Seed: m.flags.seed,
		Brokers: m.cluster.Brokers(), Voters: m.cluster.Controllers()}
	for _, name := range slices.Sorted(maps.Keys(m.flags.settings)) {
		of.Settings = append(of.Settings, client.Setting{Name: name, Value: m.flags.settings[name]})
	}
	return scenarios.Save(scenarios.Session{Of: of, Given: given, Incomplete: !complete})
}

func (m *mainWorld) ready() (reasons []string) {
	if err := m.cluster.World().Do("", func() { reasons = m.cluster.Ready() }); err != nil {
		return []string{err.Error()}
	}
	return reasons
}

// missing is what those nodes that run still lack. One that could not start does not keep the
// others from serving: its reason is in the log, and the page shows it.
func (m *mainWorld) missing() (reasons []string) {
	if err := m.cluster.World().Do("", func() { reasons = m.cluster.Missing() }); err != nil {
		return []string{err.Error()}
	}
	return reasons
}

// running says whether a controller is active and a broker runs.
func (m *mainWorld) running() (yes bool) {
	err := m.cluster.World().Do("", func() {
		_, active := m.cluster.Controller()
		yes = active && slices.ContainsFunc(m.cluster.Brokers(), m.cluster.Alive)
	})
	return yes && err == nil
}

// Batch, of server.Batches, reads one batch for the inspector.
func (m *mainWorld) Batch(
	node int32,
	topic string,
	partition int32,
	offset int64,
) (b []byte, err error) {
	failed := m.cluster.World().Do("", func() {
		b, err = m.cluster.Batch(event.NodeID(node), topic, partition, event.Offset(offset))
	})
	return b, errors.Join(err, failed)
}

// untilReady waits until a controller is active and all brokers are unfenced. Where both kinds run it
// waits for as long as that takes, as with many logs on a slow machine; without one of them there is
// nothing to wait for. A clock that is to be slow or to go by steps becomes so only then.
func (m *mainWorld) untilReady(ctx context.Context) error {
	deadline := time.Now().Add(readyTimeout)
	for reasons := m.missing(); len(reasons) > 0; reasons = m.missing() {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if time.Now().After(deadline) {
			missing := strings.Join(reasons, ", ")
			if !m.running() {
				return fmt.Errorf("not ready after %v: %s", readyTimeout, missing)
			}
			m.log.Warn("not ready yet, waiting on", "missing", missing, "page", m.pageAddress())
			deadline = time.Now().Add(readyTimeout)
		}
		time.Sleep(readyPoll)
	}
	pace, err := m.flags.pace()
	if err != nil {
		return err
	}
	return m.cluster.World().Do("", func() { m.cluster.World().SetPace(pace) })
}

func (m *mainWorld) pageAddress() string {
	address := "http://" + m.reached() + "/"
	if host, _, _ := net.SplitHostPort(m.flags.http); !isLoopback(host) {
		address += "?token=" + url.QueryEscape(m.token)
	}
	return address
}

// reached is the host and port under which the page is reached.
func (m *mainWorld) reached() string {
	host, port, err := net.SplitHostPort(m.listener.Addr().String())
	if err != nil {
		return m.listener.Addr().String()
	}
	if ip := net.ParseIP(host); ip != nil && ip.IsUnspecified() {
		host = append(reachable(host), "localhost")[0]
	}
	return net.JoinHostPort(host, port)
}

// reachable are the names of an address in a browser's bar: of 0.0.0.0 and ::, which are none,
// those of this machine's networks, IPv4 first.
func reachable(host string) (names []string) {
	if ip := net.ParseIP(host); host != "" && (ip == nil || !ip.IsUnspecified()) {
		return []string{host}
	}
	addresses, err := net.InterfaceAddrs()
	if err != nil {
		return nil
	}
	for _, address := range addresses {
		of, isNet := address.(*net.IPNet)
		switch {
		case !isNet || !of.IP.IsGlobalUnicast():
		case of.IP.To4() != nil:
			names = slices.Insert(names, 0, of.IP.String())
		default:
			names = append(names, of.IP.String())
		}
	}
	return names
}

// viewerAddress is the page for those who only look.
func (m *mainWorld) viewerAddress() string {
	return "http://" + m.reached() + "/?token=" + url.QueryEscape(m.viewers)
}

// announce says where everything is.
func (m *mainWorld) announce(w io.Writer) {
	addresses := m.cluster.Addresses()
	if m.flags.json {
		brokers := map[string]string{}
		for id, address := range addresses {
			brokers[strconv.Itoa(int(id))] = address
		}
		// Plain values always marshal; a closed standard output has nobody to tell.
		_ = json.NewEncoder(w).Encode(map[string]any{"ready": true, "page": m.pageAddress(),
			"viewer": m.viewerAddress(), "brokers": brokers, "controllers": m.cluster.Controllers(), "data": m.data,
			"seed": m.flags.seed})
		return
	}
	fmt.Fprintf(w, "Highwater is ready: %s\n", m.pageAddress())
	ids := slices.Clone(m.cluster.Brokers())
	var down []event.NodeID
	// A loop that has ended has nobody down to tell of.
	_ = m.cluster.World().Do("", func() { down = m.cluster.Down() })
	for _, id := range ids {
		state := ""
		if slices.Contains(down, id) {
			state = "   is down"
		}
		fmt.Fprintf(w, "  broker %d   %s%s\n", id, addresses[id], state)
	}
	if m.data == "" {
		fmt.Fprintln(w, "  data       in memory")
	} else {
		fmt.Fprintf(w, "  data       %s\n", m.data)
	}
	fmt.Fprintf(w, "  viewers    %s\n", m.viewerAddress())
	fmt.Fprintf(w, "try: kcat -b %s -L\n", addresses[ids[0]])
}

// close stops the page first, so that nobody watches the rest.
func (m *mainWorld) close() error {
	return errors.Join(m.server.Close(), m.lessons.Close(), m.cluster.Close(), m.closeHub())
}

func (m *mainWorld) closeHub() error {
	m.hub.Close()
	return nil
}

func openBrowser(address string) {
	name, args := "xdg-open", []string{address}
	switch runtime.GOOS {
	case "darwin":
		name = "open"
	case "windows":
		name, args = "rundll32", []string{"url.dll,FileProtocolHandler", address}
	}
	// A machine without a browser still serves: the address is printed.
	_ = exec.Command(name, args...).Start()
}
