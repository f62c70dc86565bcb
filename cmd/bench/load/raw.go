package main

import (
	"bufio"
	"context"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// The raw scenarios use versions every broker of the last years speaks and
// whose headers are not flexible.
const (
	rawProduceVersion = 7
	rawFetchVersion   = 11
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// encodeBatch returns a v2 record batch with as many records of value as fit
// in most bytes (at least one), and their number.
func encodeBatch(value []byte, most int, at time.Time) ([]byte, int) {
	var recs []byte
	n := 0
	for {
		r := kmsg.Record{OffsetDelta: int32(n), Value: value}
		body := r.AppendTo(nil)[1:] // without the length, which is one byte while 0
		next := append(binary.AppendVarint(nil, int64(len(body))), body...)
		if n > 0 && 61+len(recs)+len(next) > most {
			break
		}
		recs = append(recs, next...)
		n++
	}
	b := kmsg.RecordBatch{
		Length:               int32(49 + len(recs)),
		PartitionLeaderEpoch: -1,
		Magic:                2,
		LastOffsetDelta:      int32(n - 1),
		FirstTimestamp:       at.UnixMilli(),
		MaxTimestamp:         at.UnixMilli(),
		ProducerID:           -1,
		ProducerEpoch:        -1,
		FirstSequence:        -1,
		NumRecords:           int32(n),
		Records:              recs,
	}
	out := b.AppendTo(nil)
	binary.BigEndian.PutUint32(out[17:], crc32.Checksum(out[21:], castagnoli))
	return out, n
}

// rawConn is a connection with pipelined, ordered requests.
type rawConn struct {
	net.Conn
	br *bufio.Reader
}

func dialRaw(addr string) (*rawConn, error) {
	if !isLoopback(addr) {
		return nil, fmt.Errorf("broker advertises %s, which is not on loopback", addr)
	}
	c, err := net.DialTimeout("tcp", addr, 5*time.Second)
	if err != nil {
		return nil, err
	}
	return &rawConn{c, bufio.NewReaderSize(c, 256<<10)}, nil
}

// frame reads one response into buf (grown as needed), without its size.
func (c *rawConn) frame(buf []byte) ([]byte, error) {
	var sz [4]byte
	if _, err := io.ReadFull(c.br, sz[:]); err != nil {
		return buf, err
	}
	n := int(binary.BigEndian.Uint32(sz[:]))
	if n < 4 || n > 256<<20 {
		return buf, fmt.Errorf("response of %d bytes", n)
	}
	if cap(buf) < n {
		buf = make([]byte, n)
	}
	buf = buf[:n]
	_, err := io.ReadFull(c.br, buf)
	return buf, err
}

// rawProduce sends the same pre-encoded batch to every partition again and
// again: one connection a partition, depth requests in flight on each.
func rawProduce(ctx context.Context, c *config, batch, depth int) (*result, error) {
	r := &result{}
	err := withTopic(ctx, c, func(topic string, rf int) error {
		addrs, leaders, err := topicLeaders(ctx, c, topic)
		if err != nil {
			return err
		}
		records, perBatch := encodeBatch(payload(c.size), batch, time.Now())
		total := c.records
		if batch == 0 {
			total = c.smallRecs
		}
		total = max(total, perBatch*depth*c.partitions)
		var left atomic.Int64
		left.Store(int64((total + perBatch - 1) / perBatch))
		var acked atomic.Int64
		l := newLats(int(left.Load()))
		errs := make(chan error, 2*len(leaders))
		var wg sync.WaitGroup
		fmtr := kmsg.NewRequestFormatter(kmsg.FormatterClientID("bench"))
		type job struct {
			conn *rawConn
			req  []byte
		}
		var jobs []job
		for p, leader := range leaders {
			conn, err := dialRaw(addrs[leader])
			if err != nil {
				return err
			}
			defer conn.Close()
			_ = conn.SetDeadline(time.Now().Add(2*c.maxTime + 10*time.Second))
			req := kmsg.NewPtrProduceRequest()
			req.Version = rawProduceVersion
			req.Acks = -1
			req.TimeoutMillis = 30_000
			rt := kmsg.NewProduceRequestTopic()
			rt.Topic = topic
			rp := kmsg.NewProduceRequestTopicPartition()
			rp.Partition = p
			rp.Records = records
			rt.Partitions = append(rt.Partitions, rp)
			req.Topics = append(req.Topics, rt)
			j := job{conn, fmtr.AppendRequest(nil, req, 0)}
			jobs = append(jobs, j)
			// One batch untimed: the replicas of a topic just made may still
			// be finding each other.
			if _, err := conn.Write(j.req); err != nil {
				return err
			}
			buf, err := conn.frame(nil)
			if err == nil {
				err = produceError(buf[4:])
			}
			if err != nil {
				return err
			}
		}
		cpu, err := c.beginTimed()
		if err != nil {
			return err
		}
		start := time.Now()
		deadline := start.Add(c.maxTime)
		for _, j := range jobs {
			slots := make(chan struct{}, depth) // requests not answered yet
			sent := make(chan time.Time, depth) // when each of them was written
			wg.Go(func() {
				defer close(sent)
				for left.Add(-1) >= 0 {
					slots <- struct{}{}
					now := time.Now()
					if now.After(deadline) {
						return
					}
					sent <- now
					if _, err := j.conn.Write(j.req); err != nil {
						errs <- err
						return
					}
				}
			})
			wg.Go(func() {
				var buf []byte
				for at := range sent {
					var err error
					if buf, err = j.conn.frame(buf); err == nil {
						err = produceError(buf[4:])
					}
					if err != nil {
						errs <- err
						j.conn.Close() // the writer fails and closes sent
						for range sent {
							<-slots
						}
						return
					}
					l.add(time.Since(at))
					acked.Add(int64(perBatch))
					<-slots
				}
			})
		}
		wg.Wait()
		d := time.Since(start)
		select {
		case err := <-errs:
			return err
		default:
		}
		throughput(r, c, rf, int(acked.Load()), d)
		r.add("records_per_batch", float64(perBatch))
		r.add("requests_per_s", float64(acked.Load())/float64(perBatch)/d.Seconds())
		cpu.add(r, int(acked.Load()))
		l.report(r, "rtt_")
		return nil
	})
	return r, err
}

// produceError returns the first error a produce response carries.
func produceError(body []byte) error {
	resp := kmsg.NewPtrProduceResponse()
	resp.Version = rawProduceVersion
	if err := resp.ReadFrom(body); err != nil {
		return err
	}
	for _, t := range resp.Topics {
		for _, p := range t.Partitions {
			if err := kerr.ErrorForCode(p.ErrorCode); err != nil {
				return err
			}
		}
	}
	return nil
}

func topicLeaders(
	ctx context.Context,
	c *config,
	topic string,
) (map[int32]string, map[int32]int32, error) {
	cl, err := kgo.NewClient(kgo.SeedBrokers(c.brokers...))
	if err != nil {
		return nil, nil, err
	}
	defer cl.Close()
	return leadersOf(ctx, cl, topic)
}

// rawFetch reads a preloaded topic with one connection a partition and one
// request in flight on each, looking only at the batch headers.
func rawFetch(ctx context.Context, c *config) (*result, error) {
	r := &result{}
	err := withTopic(ctx, c, func(topic string, rf int) error {
		want, err := preload(ctx, c, topic)
		if err != nil {
			return fmt.Errorf("preload: %w", err)
		}
		addrs, leaders, err := topicLeaders(ctx, c, topic)
		if err != nil {
			return err
		}
		var got, bytes, reqs atomic.Int64
		var wg sync.WaitGroup
		errs := make(chan error, len(leaders))
		fmtr := kmsg.NewRequestFormatter(kmsg.FormatterClientID("bench"))
		cpu, err := c.beginTimed()
		if err != nil {
			return err
		}
		start := time.Now()
		for p, leader := range leaders {
			conn, err := dialRaw(addrs[leader])
			if err != nil {
				return err
			}
			defer conn.Close()
			_ = conn.SetDeadline(time.Now().Add(2 * c.maxTime))
			wg.Go(func() {
				var offset, high int64 = 0, 1
				var buf, out []byte
				for offset < high {
					req := kmsg.NewPtrFetchRequest()
					req.Version = rawFetchVersion
					req.ReplicaID = -1
					req.MaxWaitMillis = 500
					req.MinBytes = 1
					req.MaxBytes = 50 << 20
					req.SessionEpoch = -1
					rt := kmsg.NewFetchRequestTopic()
					rt.Topic = topic
					rp := kmsg.NewFetchRequestTopicPartition()
					rp.Partition = p
					rp.CurrentLeaderEpoch = -1
					rp.FetchOffset = offset
					rp.PartitionMaxBytes = 1 << 20
					rt.Partitions = append(rt.Partitions, rp)
					req.Topics = append(req.Topics, rt)
					out = fmtr.AppendRequest(out[:0], req, 0)
					if _, err := conn.Write(out); err != nil {
						errs <- err
						return
					}
					if buf, err = conn.frame(buf); err != nil {
						errs <- err
						return
					}
					reqs.Add(1)
					resp := kmsg.NewPtrFetchResponse()
					resp.Version = rawFetchVersion
					if err := resp.ReadFrom(buf[4:]); err != nil {
						errs <- err
						return
					}
					if len(resp.Topics) != 1 || len(resp.Topics[0].Partitions) != 1 {
						errs <- fmt.Errorf("fetch response without the partition (error %d)", resp.ErrorCode)
						return
					}
					rp1 := resp.Topics[0].Partitions[0]
					if err := kerr.ErrorForCode(rp1.ErrorCode); err != nil {
						errs <- err
						return
					}
					high = rp1.HighWatermark
					bytes.Add(int64(len(rp1.RecordBatches)))
					next, n := walkBatches(rp1.RecordBatches, offset)
					if n == 0 && offset < high {
						errs <- fmt.Errorf("no records at offset %d of %d", offset, high)
						return
					}
					offset = next
					got.Add(int64(n))
				}
			})
		}
		wg.Wait()
		d := time.Since(start)
		select {
		case err := <-errs:
			return err
		default:
		}
		if int(got.Load()) != want {
			return fmt.Errorf("got %d of %d records", got.Load(), want)
		}
		throughput(r, c, rf, want, d)
		r.add("wire_mb_per_s", float64(bytes.Load())/1e6/d.Seconds())
		r.add("kb_per_fetch", float64(bytes.Load())/1e3/float64(max(reqs.Load(), 1)))
		cpu.add(r, want)
		return nil
	})
	return r, err
}

// walkBatches returns the offset after the last whole batch and how many
// records from offset on the batches hold.
func walkBatches(b []byte, offset int64) (next int64, records int) {
	next = offset
	for len(b) >= 61 {
		size := 12 + int(binary.BigEndian.Uint32(b[8:]))
		if size > len(b) {
			break
		}
		last := int64(binary.BigEndian.Uint64(b)) + int64(binary.BigEndian.Uint32(b[23:]))
		if last >= next {
			records += int(last + 1 - next)
			next = last + 1
		}
		b = b[size:]
	}
	return next, records
}
