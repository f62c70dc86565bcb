package replica

import (
	"slices"
	"strconv"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"

	"highwater/cluster/event"
	"highwater/cluster/partition"
	"highwater/cluster/world"
)

// Settings are Kafka's replica.fetch.* configurations.
type Settings struct {
	WaitMax  time.Duration // replica.fetch.wait.max.ms
	BytesMax int           // replica.fetch.response.max.bytes
	Backoff  time.Duration // replica.fetch.backoff.ms
	Timeout  time.Duration // replica.socket.timeout.ms
}

// DefaultSettings are Kafka's defaults.
func DefaultSettings() Settings {
	return Settings{WaitMax: 500 * time.Millisecond, BytesMax: 10 << 20,
		Backoff: time.Second, Timeout: 30 * time.Second}
}

// Host is what a fetcher asks of its broker.
type Host interface {
	BrokerEpoch() int64
	// Failed says that a partition's log could not take what was fetched.
	Failed(p *partition.Partition, err error)
}

// followed is one partition of the fetcher.
type followed struct {
	p       *partition.Partition
	changed bool         // to be named in the next request
	paused  bool         // after an error, until the backoff is over
	asked   event.Offset // from where the leader was asked last, -1 for never
}

// Fetcher follows all partitions that one other broker leads. At most one request is under way.
type Fetcher struct {
	leader    event.NodeID
	env       *world.Env
	host      Host
	settings  Settings
	followed  map[PartitionKey]*followed
	order     []*followed // in the order in which they were added
	changed   []*followed
	forgotten []PartitionKey
	session   int64
	epoch     int32
	inFlight  bool
	stopped   bool
	backoff   *world.Timer
	onAnswer  func(body any, err error) // answered, as a value made once
}

// NewFetcher returns a fetcher that follows nothing yet.
func NewFetcher(env *world.Env, host Host, leader event.NodeID, settings Settings) *Fetcher {
	f := &Fetcher{leader: leader, env: env, host: host, settings: settings,
		followed: map[PartitionKey]*followed{}}
	f.onAnswer = f.answered
	return f
}

// Leader is the broker that this fetcher follows.
func (f *Fetcher) Leader() event.NodeID { return f.leader }

// Empty says whether the fetcher follows nothing.
func (f *Fetcher) Empty() bool { return len(f.order) == 0 }

// Follow adds a partition, or says that its epoch changed.
func (f *Fetcher) Follow(p *partition.Partition) {
	key := PartitionKey{p.Topic, p.Index}
	fp := f.followed[key]
	if fp == nil || fp.p != p {
		if fp != nil {
			f.remove(key, fp)
		}
		fp = &followed{p: p, asked: -1}
		f.followed[key] = fp
		f.order = append(f.order, fp)
	}
	fp.paused = false
	f.mark(fp)
	f.send()
}

// Unfollow takes a partition out.
func (f *Fetcher) Unfollow(key PartitionKey) {
	if fp := f.followed[key]; fp != nil {
		f.remove(key, fp)
		f.forgotten = append(f.forgotten, key)
	}
}

func (f *Fetcher) remove(key PartitionKey, fp *followed) {
	delete(f.followed, key)
	f.order = slices.DeleteFunc(f.order, func(x *followed) bool { return x == fp })
	f.changed = slices.DeleteFunc(f.changed, func(x *followed) bool { return x == fp })
}

// Stop ends the fetcher; an answer under way is dropped.
func (f *Fetcher) Stop() {
	f.stopped = true
	f.backoff.Stop()
}

func (f *Fetcher) mark(fp *followed) {
	if !fp.changed {
		fp.changed = true
		f.changed = append(f.changed, fp)
	}
}

// send asks for more unless a request is under way or the leader is being left alone.
func (f *Fetcher) send() {
	if f.inFlight || f.stopped || f.backoff.Armed() || len(f.order) == 0 {
		return
	}
	if f.session == 0 {
		f.session, f.epoch = f.env.NextID(), 0
		f.forgotten = nil
		for _, fp := range f.order {
			f.mark(fp)
		}
	}
	request := newFetchRequest(len(f.changed))
	request.Replica, request.BrokerEpoch = f.env.ID(), f.host.BrokerEpoch()
	request.Session, request.Epoch = f.session, f.epoch
	request.MaxWait, request.BytesMax = int64(f.settings.WaitMax), f.settings.BytesMax
	request.Forgotten = f.forgotten
	f.forgotten = nil
	kept := f.changed[:0]
	for _, fp := range f.changed {
		if fp.paused {
			kept = append(kept, fp)
			continue
		}
		fp.changed = false
		p := fp.p
		fp.asked = p.Log.LogEndOffset()
		request.Partitions = append(request.Partitions, FetchPartition{
			PartitionKey: PartitionKey{p.Topic, p.Index}, TopicID: p.TopicID,
			LeaderEpoch: p.LeaderEpoch(), Offset: fp.asked, LastEpoch: p.LastFetchedEpoch(),
			LogStart: p.Log.LogStartOffset()})
	}
	f.changed = kept
	f.epoch++
	f.inFlight = true
	f.env.Request(f.leader, FetchAPI, request, f.settings.Timeout, f.onAnswer)
}

func (f *Fetcher) answered(body any, err error) {
	f.inFlight = false
	response, ok := body.(*FetchResponse)
	if f.stopped {
		if ok {
			response.Release()
		}
		return
	}
	if err != nil || !ok || response.Code != 0 {
		f.session = 0
		f.wait()
		return
	}
	for i := range response.Partitions {
		f.take(&response.Partitions[i])
	}
	response.Release()
	f.send()
}

// take applies the leader's answer for one partition, if it answers what the log would ask now: the
// topic may have been deleted and made again meanwhile, or the log cut
// (AbstractFetcherThread.processFetchRequest).
func (f *Fetcher) take(r *FetchedPartition) {
	fp := f.followed[r.PartitionKey]
	if fp != nil && fp.asked != fp.p.Log.LogEndOffset() {
		f.mark(fp)
		return
	}
	if fp == nil || r.LeaderEpoch != fp.p.LeaderEpoch() && r.Code == 0 {
		if fp != nil {
			f.mark(fp)
		}
		return
	}
	var err error
	switch {
	case r.Code == kerr.OffsetOutOfRange.Code:
		err = fp.p.OutOfRange(r.LogStartOffset, r.LogEndOffset)
	case r.Code != 0:
		// The leader or this follower knows an older epoch: the metadata log will tell.
		fp.paused = true
		f.wait()
	case r.Diverging:
		err = fp.p.TruncateDiverged(r.DivergingEpoch, r.DivergingEnd)
	default:
		end, start := fp.p.Log.LogEndOffset(), fp.p.Log.LogStartOffset()
		err = fp.p.TakeFetched(r.Batches, r.HighWatermark, r.LogStartOffset)
		if err == nil && fp.p.Log.LogEndOffset() == end && fp.p.Log.LogStartOffset() == start {
			return // only the high watermark was news
		}
	}
	if err != nil {
		fp.paused = true
		f.host.Failed(fp.p, err)
		f.wait()
	}
	f.mark(fp)
}

// wait leaves the leader alone for the backoff, then goes on with all partitions.
func (f *Fetcher) wait() {
	if f.backoff.Armed() || f.stopped {
		return
	}
	f.backoff = f.env.After("replica-fetch-backoff-"+strconv.Itoa(int(f.leader)),
		f.settings.Backoff, func() {
			for _, fp := range f.order {
				fp.paused = false
			}
			f.send()
		})
}

// Partitions lists what is followed, by name.
func (f *Fetcher) Partitions() []PartitionKey {
	keys := make([]PartitionKey, 0, len(f.order))
	for _, fp := range f.order {
		keys = append(keys, PartitionKey{fp.p.Topic, fp.p.Index})
	}
	slices.SortFunc(keys, PartitionKey.Compare)
	return keys
}

// Follows says whether the fetcher follows the partition.
func (f *Fetcher) Follows(key PartitionKey) bool { return f.followed[key] != nil }
