package client

import (
	"slices"
	"time"
)

// metadataMaxAge is after how long a consumer asks anew even though nothing failed
// (metadata.max.age.ms).
const metadataMaxAge = 5 * time.Minute

// sizes is what a consumer knows of how many partitions there are of what it, or the group that it
// leads, reads. Unlike the leaders it is never forgotten, only replaced by the next answer.
type sizes struct {
	known    map[string]int32 // 0 for a topic that is not there
	asking   bool
	tries    int  // in a row that missed a topic
	retrying bool // a timer is to ask again
}

// gone says whether a topic is known not to be there.
func (s *sizes) gone(topic string) bool {
	size, known := s.known[topic]
	return known && size == 0
}

// of takes over what was just learned of topics. As long as one of them is missing the consumer
// goes on asking, of another broker and less and less often: it may be made, or made again.
func (s *sizes) of(c *Consumer, topics []string) {
	s.known = make(map[string]int32, len(topics))
	missing := false
	for _, name := range topics {
		s.known[name] = 0
		if t := c.topics[name]; t != nil {
			s.known[name] = int32(len(t.partitions))
		}
		missing = missing || s.known[name] == 0
	}
	if !missing {
		s.tries = 0
		return
	}
	c.turn++
	if s.retrying {
		return
	}
	s.retrying = true
	wait := min(backoffMin<<min(s.tries, 10), backoffMax)
	s.tries++
	c.env.AfterQuiet("metadata-retry", wait, func() {
		s.retrying = false
		c.refresh()
	})
}

// refresh asks what is to be known of all topics that matter to the consumer.
func (c *Consumer) refresh() {
	if c.sizes.asking || c.sizes.retrying || c.closing {
		return
	}
	topics := slices.Clone(c.config.Topics)
	for name := range c.member.divided {
		topics = append(topics, name)
	}
	slices.Sort(topics)
	topics = slices.Compact(topics)
	c.sizes.asking = true
	o := c.begin(timeMax, func(int16) { c.sizes.asking = false })
	o.attempt = func() {
		o.lookUpAll(topics, func() {
			c.sizes.asking = false
			c.sizes.of(c, topics)
			if len(c.seeks) > 0 { // they do not wait for a poll
				c.assign()
			}
			c.advance()
		})
	}
	o.attempt()
}

// ageMetadata asks anew from time to time, which is how partitions that were added are noticed.
func (c *Consumer) ageMetadata() {
	c.env.AfterQuiet("metadata-age", metadataMaxAge, func() {
		if !c.closing {
			c.refresh()
			c.ageMetadata()
		}
	})
}

// resized says whether the topics that this member divided among its group are no longer as they
// were. As in Java only the leader looks: when it joins again, everybody else does.
func (m *membership) resized() bool {
	for name, size := range m.divided {
		if now, known := m.c.sizes.known[name]; known && now != size {
			return true
		}
	}
	return false
}
