package cluster

import (
	"errors"

	"highwater/cluster/wire"
	"highwater/cluster/world"
)

// closing is what the input log calls the clean end of a session.
const closing = "(the cluster closes)"

// RerunConfig is what Rerun needs to run this session again: the seed, the origin, and the
// addresses that its ports became. Only a session that began with empty disks can be run again,
// since the input log does not hold what was on them. The data directory is left out; so are
// events and log, which are the new run's own.
func (c *Cluster) RerunConfig() Config {
	config := c.config
	config.Live = false
	config.DataDir = ""
	config.Events, config.Log = nil, nil
	config.InputLogBytesMax = 0
	config.Kafka = nil
	for _, id := range c.config.Brokers {
		if address, listens := c.addresses[id]; listens {
			config.Kafka = append(config.Kafka, address)
		}
	}
	return config
}

// Rerun runs a live session's input log again in virtual time and leaves the cluster where the log
// ends. Nothing listens; the brokers only bear the addresses that they had. A command of the
// session is given to command, on the loop, with the text it was recorded under. It fails when the
// run goes another way than the session went. The caller closes the cluster that it gives.
func Rerun(config Config, inputLog []byte, command func(c *Cluster, text string)) (
	*Cluster, error) {
	config.Live, config.rerun = false, true
	c, err := New(config)
	if err != nil {
		return nil, err
	}
	if err := c.Start(); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	var failed error
	err = c.world.Rerun(inputLog, world.Rerun{Parse: wire.ParseRaw, Command: func(text string) {
		if text == closing {
			failed = c.shut()
			c.world.End()
			return
		}
		command(c, text)
	}})
	if err = errors.Join(err, failed); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}
