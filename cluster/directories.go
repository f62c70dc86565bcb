package cluster

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"highwater/cluster/commitlog"
	"highwater/cluster/controller"
	"highwater/cluster/disk"
	"highwater/cluster/event"
	"highwater/cluster/world"
)

// directory is a node's own below the data directory.
func (c *Cluster) directory(id event.NodeID) string {
	role := "broker-"
	if slices.Contains(c.config.Controllers, id) {
		role = "controller-"
	}
	return filepath.Join(c.config.DataDir, role+strconv.Itoa(int(id)))
}

// openDisks opens every node's disk. Directories in use, or of another cluster, are left untouched:
// none is made before those that are there agree.
func (c *Cluster) openDisks() error {
	var missing []event.NodeID
	for _, id := range c.nodes() {
		if c.config.DataDir != "" {
			if _, err := os.Stat(c.directory(id)); errors.Is(err, fs.ErrNotExist) {
				missing = append(missing, id)
				continue
			}
		}
		if err := c.openDisk(id); err != nil {
			return err
		}
	}
	if err := c.findClusterID(); err != nil {
		return err
	}
	if err := c.checkQuorumIsThere(); err != nil {
		return err
	}
	for _, id := range missing {
		if err := c.openDisk(id); err != nil {
			return err
		}
	}
	return nil
}

func (c *Cluster) openDisk(id event.NodeID) error {
	// Without a clock of its own a disk never waits: a slow or a hung one is the world's business.
	options := disk.Options{}
	if c.config.DataDir == "" {
		c.disks[id] = disk.NewMemory(options)
		return nil
	}
	dir := c.directory(id)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("cluster: data directory: %w", err)
	}
	d, err := disk.NewReal(dir, options)
	if err != nil {
		return err
	}
	if err := d.Lock(); err != nil {
		return errors.Join(fmt.Errorf("cluster: %s is in use: %w", dir, err), d.Close())
	}
	c.disks[id] = d
	return nil
}

// findClusterID takes the id from the directories, which must agree.
func (c *Cluster) findClusterID() error {
	given, by := c.config.ClusterID, "the one that was asked for"
	for _, id := range c.nodes() {
		if c.disks[id] == nil {
			continue
		}
		meta, err := commitlog.ReadMetaProperties(c.disks[id])
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return fmt.Errorf("cluster: %s: %w", c.disks[id].Path(), err)
		}
		if meta.NodeID != id {
			return fmt.Errorf("cluster: %s belongs to node %d; give another data directory",
				c.disks[id].Path(), meta.NodeID)
		}
		if given != "" && meta.ClusterID != given {
			return fmt.Errorf("cluster: %s belongs to cluster %s, and %s is %s; "+
				"give another data directory", c.disks[id].Path(), meta.ClusterID, by, given)
		}
		given, by = meta.ClusterID, "that of "+c.disks[id].Path()
	}
	if given == "" {
		// Two live clusters are two, even of one seed: their directories must not be mixed.
		began := uint64(c.config.Origin.UnixMilli() - seededOrigin.UnixMilli())
		given = world.RandomUUID(rand.New(rand.NewPCG(c.config.Seed, 0xc1d^began))).String()
	}
	c.config.ClusterID = given
	return nil
}

// checkQuorumIsThere refuses brokers that have followed a quorum whose log is nowhere: they would
// stay fenced for good.
func (c *Cluster) checkQuorumIsThere() error {
	for _, id := range slices.Concat(c.config.Controllers, c.config.Brokers) {
		if c.disks[id] == nil {
			continue
		}
		bytes, err := c.metadataBytes(id)
		if err != nil || bytes > 0 && slices.Contains(c.config.Controllers, id) {
			return err
		}
		if bytes > 0 {
			return fmt.Errorf("cluster: %s has followed controllers, and none of their "+
				"directories (such as %s) holds a metadata log: put them back, or give another data directory",
				c.disks[id].Path(), c.directory(c.config.Controllers[0]))
		}
	}
	return nil
}

func (c *Cluster) metadataBytes(id event.NodeID) (int64, error) {
	bytes, err := controller.MetadataBytes(c.disks[id])
	if err != nil {
		return 0, fmt.Errorf("cluster: the metadata log of %s: %w", c.named(id), err)
	}
	return bytes, nil
}

// sessionSeed is the seed of the dice: the cluster's own in fresh directories. What the dice gave an
// earlier session (incarnation, topic and member ids) must never come again, so directories that
// hold one change the seed by how far its metadata log has come; each start adds to that.
func (c *Cluster) sessionSeed() (uint64, error) {
	var bytes int64
	for _, id := range c.config.Controllers {
		stored, err := c.metadataBytes(id)
		if err != nil {
			return 0, err
		}
		bytes += stored
	}
	if bytes == 0 {
		return c.config.Seed, nil
	}
	return rand.NewPCG(c.config.Seed, uint64(bytes)).Uint64(), nil
}

func (c *Cluster) closeDisks() error {
	var errs []error
	for _, id := range c.nodes() {
		if d := c.disks[id]; d != nil {
			errs = append(errs, d.Close())
		}
	}
	return errors.Join(errs...)
}
