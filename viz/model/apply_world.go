package model

import (
	"cmp"
	"slices"

	"highwater/cluster/event"
)

// applyWorld folds the kinds of nodes, links, clients, messages, timers and waits.
func (s *State) applyWorld(c *event.Chunk, r *event.Record) {
	switch r.Kind {
	case event.KindMessageSent:
		s.messageSent(r.Node, c.MessageSent(r))
	case event.KindMessageDelivered:
		s.Messages.remove(c.MessageDelivered(r).Message)
	case event.KindMessageDropped:
		s.Messages.remove(c.MessageDropped(r).Message)
	case event.KindRequestReceived:
		s.requestReceived(r.Node, c.RequestReceived(r))
	case event.KindPartitionAnswered:
		e := c.PartitionAnswered(r)
		s.clients[e.Connection].countError(e.ErrorCode)
		s.delivered(r.Node, e)
	case event.KindResponseSent:
		e := c.ResponseSent(r)
		s.responseSent(e)
		s.delivered(r.Node, e.OfPartition())
	case event.KindFetchPositionChanged:
		e := c.FetchPositionChanged(r)
		s.asked(Ask{e.Connection, r.Node, e.Topic, e.Partition, e.Offset})
	case event.KindFetchPartitionDropped:
		e := c.FetchPartitionDropped(r)
		s.askDropped(Ask{By: e.Connection, Node: r.Node, Topic: e.Topic, Partition: e.Partition})
	case event.KindWaitBegan:
		s.waitBegan(r.Node, c.WaitBegan(r))
	case event.KindWaitEnded:
		s.Waits.remove(c.WaitEnded(r).Wait)
	case event.KindTimerArmed:
		e := c.TimerArmed(r)
		t, evicted := s.Timers.put(e.Timer, timersMax)
		*t = Timer{ID: e.Timer, Node: r.Node, Name: e.Name, Due: e.Due}
		s.NotKept.Timers += one(evicted)
	case event.KindTimerFired:
		s.Timers.remove(c.TimerFired(r).Timer)
	case event.KindTimerCancelled:
		s.Timers.remove(c.TimerCancelled(r).Timer)
	case event.KindClientConnected, event.KindClientIdentified, event.KindClientDisconnected:
		s.applyClient(c, r)
	case event.KindLinkCut, event.KindLinkHealed, event.KindLinkDelayed:
		s.applyLink(c, r)
	case event.KindWorldStarted:
		s.worldStarted(c.WorldStarted(r))
	case event.KindCommandRan:
		e := c.CommandRan(r)
		s.Command = &Command{Command: e.Command, By: e.By, At: r.At, Seq: r.Seq}
	case event.KindCommandFailed: // it changes nothing
	default:
		if n := s.node(r.Node); n != nil {
			s.applyNode(n, c, r)
		}
	}
}

func one(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

func (s *State) worldStarted(e event.WorldStarted) {
	s.Seed, s.Origin, s.ClusterID, s.Version = e.Seed, e.Origin, e.ClusterID, e.Version
	for _, id := range e.Brokers {
		if n := s.node(id); n != nil {
			n.Role = "broker"
		}
	}
	for _, id := range e.Controllers {
		if n := s.node(id); n != nil {
			n.Role = "controller"
		}
	}
}

func (s *State) applyNode(n *Node, c *event.Chunk, r *event.Record) {
	switch r.Kind {
	case event.KindNodeStarted:
		e := c.NodeStarted(r)
		n.Role, n.Host, n.Port, n.Incarnation = e.Role, e.Host, e.Port, e.Incarnation
		n.Alive, n.Paused, n.LogDirFailed = true, false, ""
		n.Stopped, n.StopReason, n.StoppedAt, n.LostBytes = "", "", 0, 0
	case event.KindNodeStopped:
		e := c.NodeStopped(r)
		n.Stopped, n.StopReason, n.StoppedAt, n.LostBytes = e.How, e.Reason, r.At, e.LostBytes
		s.forgetMemory(n)
	case event.KindNodePaused:
		n.Paused = true
	case event.KindNodeResumed:
		n.Paused = false
	case event.KindNodeClockChanged:
		e := c.NodeClockChanged(r)
		n.ClockOffset, n.ClockRatePermille = e.Offset, e.RatePermille
	case event.KindDiskFaultSet:
		e := c.DiskFaultSet(r)
		n.DiskFault, n.DiskDelay = e.Fault, e.Delay
	}
}

// forgetMemory is what the end of an incarnation takes: all that was not in files. Messages that a
// paused node had not handled are gone without a further event.
func (s *State) forgetMemory(n *Node) {
	paused := n.Paused
	n.Alive, n.Paused = false, false
	n.State, n.Leader = "", event.NoNode
	n.MetadataCommitted, n.MetadataOffset, n.MetadataLeader = -1, -1, event.NoNode
	s.Timers.removeIf(func(t *Timer) bool { return t.Node == n.ID })
	s.Waits.removeIf(func(w *Wait) bool { return w.Node == n.ID })
	s.dropAsks(n.ID)
	if p := s.Program(n.ID); p != nil {
		p.end()
	}
	if paused {
		s.Messages.removeIf(func(m *Message) bool { return m.To == n.ID })
	}
	for _, client := range s.Clients {
		if client.Node == n.ID {
			delete(s.clients, client.Connection)
		}
	}
	s.Clients = slices.DeleteFunc(s.Clients, func(c *Client) bool { return c.Node == n.ID })
	for _, t := range s.Topics {
		for _, p := range t.Partitions {
			if l := p.Log(n.ID); l != nil {
				l.Role, l.Leader, l.Isr, l.Proposed = "", event.NoNode, noNodes, nil
				l.Followers = []Follower{}
				l.Cleaning = nil
				l.Unpowered = l.Unpowered || n.Stopped == "power-cut"
			}
		}
	}
}

func (s *State) applyLink(c *event.Chunk, r *event.Record) {
	switch r.Kind {
	case event.KindLinkCut:
		e := c.LinkCut(r)
		if l := s.link(e.From, e.To); l != nil {
			l.Cut = true
		}
	case event.KindLinkHealed:
		e := c.LinkHealed(r)
		if l := s.link(e.From, e.To); l != nil {
			l.Cut = false
		}
	case event.KindLinkDelayed:
		e := c.LinkDelayed(r)
		if l := s.link(e.From, e.To); l != nil {
			l.Latency = e.Latency
		}
	}
}

func (s *State) messageSent(from event.NodeID, e event.MessageSent) {
	m, evicted := s.Messages.put(e.Message, messagesMax)
	s.NotKept.Messages += one(evicted)
	*m = Message{ID: e.Message, From: from, To: e.To, API: e.API, SentAt: s.At, Answers: e.Answers,
		Topic: e.Topic, Partition: e.Partition, Records: e.Records, Offset: e.Offset,
		HighWatermark: e.HighWatermark, Bytes: e.Bytes, Idle: e.Idle}
	s.Counters.Messages++
	s.Counters.IdleMessages += one(e.Idle)
	s.Counters.MessageBytes += int64(e.Bytes)
	l := s.link(from, e.To)
	if l == nil {
		return
	}
	l.Messages++
	l.Idle += one(e.Idle)
	l.Bytes += int64(e.Bytes)
	if !e.Idle {
		l.LastAt = s.At
	}
}

func (s *State) waitBegan(node event.NodeID, e event.WaitBegan) {
	w, evicted := s.Waits.put(e.Wait, waitsMax)
	s.NotKept.Waits += one(evicted)
	*w = Wait{ID: e.Wait, Node: node, For: e.For, What: e.What, Topic: e.Topic,
		Partition: e.Partition, Idle: e.Idle, Needs: e.Needs, Due: e.Due, Since: s.At}
}

func (s *State) applyClient(c *event.Chunk, r *event.Record) {
	switch r.Kind {
	case event.KindClientConnected:
		e := c.ClientConnected(r)
		if s.clients[e.Connection] != nil || len(s.Clients) >= clientsMax {
			s.NotKept.Clients++
			return
		}
		client := &Client{Connection: e.Connection, Node: r.Node, Address: e.Address,
			ConnectedAt: r.At, Requests: APICounts{}, OpenRequests: []Request{}}
		s.clients[e.Connection] = client
		s.Clients = insertSorted(s.Clients, client, func(a, b *Client) int {
			return cmp.Compare(a.Connection, b.Connection)
		})
	case event.KindClientIdentified:
		e := c.ClientIdentified(r)
		if client := s.clients[e.Connection]; client != nil {
			client.ClientID = e.ClientID
			if e.Software != "" {
				client.Software = e.Software
			}
		}
	case event.KindClientDisconnected:
		e := c.ClientDisconnected(r)
		delete(s.clients, e.Connection)
		s.dropAsks(e.Connection)
		s.Clients = slices.DeleteFunc(s.Clients, func(c *Client) bool {
			return c.Connection == e.Connection
		})
	}
}

func (s *State) requestReceived(node event.NodeID, e event.RequestReceived) {
	if e.API == "Fetch" && e.Topic != "" {
		s.asked(Ask{e.Connection, node, e.Topic, e.Partition, e.Offset})
	}
	client := s.clients[e.Connection]
	if client == nil {
		return
	}
	client.count(e.API)
	if client.Last == nil {
		client.Last = new(Request)
	}
	*client.Last = Request{ID: e.Request, API: e.API, Version: e.Version, Topic: e.Topic,
		Partition: e.Partition, Offset: e.Offset, Records: e.Records, Acks: e.Acks, At: s.At,
		Idle: e.Idle}
	if e.API == "Produce" && e.Acks == 0 {
		return // nobody will answer it
	}
	client.Open++
	if len(client.OpenRequests) >= openMax {
		client.OpenRequests = slices.Delete(client.OpenRequests, 0, 1)
	}
	client.OpenRequests = append(client.OpenRequests, *client.Last)
}

// count notes one use of an API; those beyond the bound are counted together.
func (c *Client) count(api string) {
	for i := range c.Requests {
		if c.Requests[i].API == api {
			c.Requests[i].Count++
			return
		}
	}
	if len(c.Requests) >= apisMax {
		api = "others"
		if at := slices.IndexFunc(c.Requests, func(a APICount) bool { return a.API == api }); at >= 0 {
			c.Requests[at].Count++
			return
		}
	}
	c.Requests = insertSorted(c.Requests, APICount{API: api, Count: 1}, func(a, b APICount) int {
		return cmp.Compare(a.API, b.API)
	})
}

func (c *Client) countError(code int32) {
	if c != nil {
		c.Errors += one(code != 0)
	}
}

func (s *State) responseSent(e event.ResponseSent) {
	client := s.clients[e.Connection]
	if client == nil {
		return
	}
	client.countError(e.ErrorCode)
	if client.Answered == nil {
		client.Answered = new(Answer)
	}
	*client.Answered = Answer{ID: e.Request, API: e.API, ErrorCode: e.ErrorCode, Topic: e.Topic,
		Partition: e.Partition, Offset: e.Offset, Records: e.Records, At: s.At}
	client.Open = max(0, client.Open-1)
	for i := range client.OpenRequests {
		if client.OpenRequests[i].ID == e.Request {
			client.OpenRequests = slices.Delete(client.OpenRequests, i, i+1)
			return
		}
	}
}
