// Command kfaked runs franz-go's kfake as a server process, so that load
// measures it from outside like any other broker.
package main

import (
	"flag"
	"fmt"
	"net/http"
	_ "net/http/pprof"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"

	"github.com/twmb/franz-go/pkg/kfake"
)

func main() {
	ports := flag.String("ports", "29092,29093,29094", "one broker a port, on 127.0.0.1")
	dir := flag.String("dir", "", "persist into this directory (default: memory only)")
	sync := flag.Bool("sync", false, "with -dir: fsync every batch")
	blackhole := flag.Bool(
		"blackhole",
		false,
		"accept produce requests and drop the records: the client's ceiling",
	)
	synthetic := flag.Bool(
		"synthetic",
		false,
		"answer every fetch from one canned batch: the client's ceiling",
	)
	pprof := flag.String("pprof", "", "serve pprof on this loopback address")
	flag.Parse()

	var opts []kfake.Opt
	var pp []int
	for p := range strings.SplitSeq(*ports, ",") {
		n, err := strconv.Atoi(p)
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(2)
		}
		pp = append(pp, n)
	}
	opts = append(opts, kfake.NumBrokers(len(pp)), kfake.Ports(pp...))
	if *dir != "" {
		opts = append(opts, kfake.DataDir(*dir))
	}
	if *sync {
		opts = append(opts, kfake.SyncWrites())
	}
	if *blackhole {
		opts = append(opts, kfake.BlackholeProduce())
	}
	if *synthetic {
		opts = append(opts, kfake.SyntheticFetch(kfake.SyntheticBatch{}))
	}
	c, err := kfake.NewCluster(opts...)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	defer c.Close()
	if *pprof != "" {
		go func() { fmt.Fprintln(os.Stderr, http.ListenAndServe(*pprof, nil)) }()
	}
	fmt.Println(strings.Join(c.ListenAddrs(), ","))
	sig := make(chan os.Signal, 1)
	signal.Notify(sig, os.Interrupt, syscall.SIGTERM)
	<-sig
}
