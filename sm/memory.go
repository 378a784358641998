package sm

import (
	"context"
	"fmt"
	"time"

	"heddle/ib"
	"heddle/sm/admin"
	"heddle/sm/group"
	"heddle/sm/multicast"
	"heddle/sm/plan"
	"heddle/sm/store"
)

// Memory writes what a manager must still know after its death to its
// Config.Store: the store alone does so, or a replica.Node, which gives it to
// other managers as well.
type Memory interface {
	// Lead makes the manager the one that writes, in an epoch that is its own.
	Lead(ctx context.Context) (epoch uint64, err error)
	// Follow ends that.
	Follow()
	// Commit keeps a batch, and calls done when it is kept for good.
	Commit(ctx context.Context, b *store.Batch, done func(store.Result)) error
	// Deposed tells that the manager is not the one that writes any more, though
	// nobody called Follow, and why. A nil channel is of a memory that tells so
	// by Commit only.
	Deposed() <-chan error
}

// alone is the Memory of a manager without peers.
type alone struct{ *store.Store }

func (a alone) Lead(ctx context.Context) (uint64, error) {
	epoch := a.Promised() + 1
	kept := make(chan error, 1)
	if err := a.Promise(ctx, epoch, func(r store.Result) { kept <- r.Err }); err != nil {
		return 0, err
	}
	select {
	case err := <-kept:
		return epoch, err
	case <-ctx.Done():
		return 0, context.Cause(ctx)
	}
}

func (a alone) Follow() {}

func (a alone) Deposed() <-chan error { return nil }

// remember makes the manager one that goes on with what the last one knew, and
// whose word counts from now on.
func (m *Manager) remember(ctx context.Context) error {
	if m.keeper.memory == nil {
		return m.begin(group.New)
	}
	m.keeper.suspend()
	epoch, err := m.keeper.memory.Lead(ctx)
	if err != nil {
		return fmt.Errorf("memory: %w", err)
	}
	if err := m.cfg.Store.Sync(ctx); err != nil {
		return fmt.Errorf("memory: %w", err)
	}
	if err := m.recall(); err != nil {
		return fmt.Errorf("memory: %w", err)
	}
	m.server().Groups(func(t *group.Table) { err = t.Resume(time.Now(), epoch) })
	if err != nil {
		return fmt.Errorf("memory: %w", err)
	}
	m.keeper.resume()
	m.save(ctx)
	m.cfg.Log.Info("state restored", "epoch", epoch, "ports", len(m.cfg.LIDs.Keep))
	return nil
}

// recall reads all that is kept.
func (m *Manager) recall() error {
	if err := m.begin(m.cfg.Store.Groups); err != nil {
		return err
	}
	for _, bucket := range []string{admin.BucketSubscriptions, admin.BucketServices, admin.BucketAliases} {
		records, err := m.cfg.Store.Records(bucket)
		if err != nil {
			return err
		}
		for _, r := range records {
			if err := m.server().Restore(admin.Change{Bucket: r.Bucket, Key: r.Key, Value: r.Value}); err != nil {
				m.cfg.Log.Warn("kept record passed over", "bucket", bucket, "error", err)
			}
		}
	}
	lids, err := m.cfg.Store.LIDs()
	if err != nil {
		return err
	}
	m.cfg.LIDs.Keep = map[ib.GUID]plan.LIDRange{}
	clear(m.known)
	for guid, r := range lids {
		m.cfg.LIDs.Keep[guid] = plan.LIDRange{First: r.First, Last: r.Last}
		m.known[guid] = true // its clients' groups and subscriptions are here
	}
	m.fillLIDs()
	return nil
}

// begin makes a server for groups, and a router that knows no trees yet.
func (m *Manager) begin(groups func(group.Config) (*group.Table, error)) error {
	cfg, era := m.cfg.Groups, m.keeper.now()
	cfg.Prefix, cfg.Journal = m.cfg.Ports.Prefix, func(e group.Entry) { m.journal(era, e) }
	var table *group.Table
	cfg.ShareCost = func(_ ib.MGID, first ib.GID, with ib.MLID) int { return m.shareCost(table, first, with) }
	table, err := groups(cfg)
	if err != nil {
		return err
	}
	server, err := admin.New(admin.Config{Groups: table, Key: m.cfg.SAKey, Journal: func(c admin.Change) { m.journalAdmin(era, c) }})
	if err != nil {
		return err
	}
	m.serving.Store(&serving{server, era})
	m.batches = nil
	m.router, err = multicast.New(multicast.Config{Engines: m.cfg.Multicast, Workers: m.cfg.Workers, Run: m.runTrees})
	return err
}

// serving is subnet administration, and the era of the keeper in which it began:
// when the state is taken up anew, another one takes its place.
type serving struct {
	*admin.Server
	era int
}

// server is subnet administration.
func (m *Manager) server() *serving { return m.serving.Load() }

// journal takes the entries of the groups' table, to be kept, and to be told of
// when that must not be asked any more.
func (m *Manager) journal(era int, e group.Entry) {
	m.keeper.add(era, func(b *store.Batch) { b.Entries = append(b.Entries, e) })
	if e.Notice() == 0 {
		return
	}
	m.entriesMu.Lock()
	defer m.entriesMu.Unlock()
	m.entries = append(m.entries, e)
}

// journalAdmin takes the changes of subscriptions and services.
func (m *Manager) journalAdmin(era int, c admin.Change) {
	m.keeper.add(era, func(b *store.Batch) {
		if c.Value == nil {
			b.Delete(c.Bucket, c.Key)
			return
		}
		b.Put(store.Record{Bucket: c.Bucket, Key: c.Key, Version: admin.KeepVersion, Value: c.Value})
	})
}

// keepLIDs keeps the LIDs that ports got.
func (m *Manager) keepLIDs(ctx context.Context) {
	if m.cfg.LIDs.Keep == nil {
		m.cfg.LIDs.Keep = map[ib.GUID]plan.LIDRange{}
	}
	for p, r := range m.lids {
		guid := p.At().GUID
		if m.cfg.LIDs.Keep[guid] == r {
			continue
		}
		m.cfg.LIDs.Keep[guid] = r
		m.keeper.add(m.server().era, func(b *store.Batch) { b.PutLIDs(guid, store.LIDRange{First: r.First, Last: r.Last}) })
	}
	m.save(ctx)
}

// save has what changed be kept, without waiting for it.
func (m *Manager) save(ctx context.Context) {
	m.keeper.keep(ctx, m.server().era, func(err error) {
		if err != nil {
			m.lost(err)
		}
	})
}

// lost is a memory that does not keep what it is given: see unkept. Whoever asked
// for it is told to ask again.
func (m *Manager) lost(err error) { m.cfg.Log.Debug("state is not kept", "error", err) }
