package replica

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"log/slog"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"heddle/ib"
	"heddle/sm/group"
	"heddle/sm/store"
)

var testSecret = bytes.Repeat([]byte("0123456789abcdef"), 2)

// network connects nodes in process, and can be cut.
type network struct {
	mu        sync.Mutex
	listeners map[string]*pipeListener
	conns     map[[2]string][]net.Conn // by from and to
	cut       map[[2]string]bool
}

type pipeListener struct {
	address string
	conns   chan net.Conn
	closed  chan struct{}
	once    sync.Once
}

func (l *pipeListener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

func (l *pipeListener) Close() error {
	l.once.Do(func() { close(l.closed) })
	return nil
}

func (l *pipeListener) Addr() net.Addr { return &net.UnixAddr{Name: l.address} }

func newNetwork() *network {
	return &network{listeners: map[string]*pipeListener{}, conns: map[[2]string][]net.Conn{}, cut: map[[2]string]bool{}}
}

func (w *network) listen(address string) net.Listener {
	w.mu.Lock()
	defer w.mu.Unlock()
	l := &pipeListener{address: address, conns: make(chan net.Conn), closed: make(chan struct{})}
	w.listeners[address] = l
	return l
}

func pair(a, b string) [2]string { return [2]string{min(a, b), max(a, b)} }

func (w *network) dial(ctx context.Context, from, to string) (net.Conn, error) {
	w.mu.Lock()
	l, cut := w.listeners[to], w.cut[pair(from, to)]
	w.mu.Unlock()
	if l == nil || cut {
		return nil, errors.New("no way")
	}
	ours, theirs := net.Pipe()
	select {
	case l.conns <- theirs:
	case <-l.closed:
		return nil, errors.New("refused")
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.conns[pair(from, to)] = append(w.conns[pair(from, to)], ours, theirs)
	return ours, nil
}

// set cuts the way between two, or heals it.
func (w *network) set(a, b string, cut bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.cut[pair(a, b)] = cut
	if cut {
		for _, c := range w.conns[pair(a, b)] {
			_ = c.Close()
		}
		delete(w.conns, pair(a, b))
	}
}

// cluster is some managers, and what is known of all that they did.
type cluster struct {
	*testing.T
	network *network
	config  Config
	members []*member
	digests map[store.Position]string // of the tables
	mu      sync.Mutex
	sure    map[uint64]bool // batches acknowledged with all followers that were waited for; guarded by mu
	batches uint64
}

// member is one manager, with a table while it leads.
type member struct {
	cluster *cluster
	name    string
	id      uint16
	store   *store.Store
	node    *Node
	cancel  context.CancelFunc
	done    chan struct{}
	deposed chan uint64
	table   *group.Table
	batch   *store.Batch
}

func newCluster(t *testing.T, size int, config Config) *cluster {
	c := &cluster{T: t, network: newNetwork(), config: config, digests: map[store.Position]string{{}: ""}, sure: map[uint64]bool{}}
	for i := range size {
		m := &member{cluster: c, name: fmt.Sprintf("sm%d", i+1), id: uint16(i + 1), store: store.InMemory(store.Options{Journal: 4000})}
		c.members = append(c.members, m)
	}
	for _, m := range c.members {
		m.start()
	}
	return c
}

func (m *member) start() {
	config := m.cluster.config
	config.ID = m.id
	if config.Secret == nil {
		config.Secret = testSecret
	}
	config.MaxBackoff = time.Second
	for _, other := range m.cluster.members {
		if other != m {
			config.Peers = append(config.Peers, other.name)
		}
	}
	config.Dial = func(ctx context.Context, to string) (net.Conn, error) { return m.cluster.network.dial(ctx, m.name, to) }
	m.deposed = make(chan uint64, 100)
	config.Deposed = func(epoch uint64) { m.deposed <- epoch }
	config.Logger = slog.New(slog.NewTextHandler(m.cluster.Output(), nil)).With("at", m.name)
	node, err := New(m.store, config)
	if err != nil {
		m.cluster.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	m.node, m.cancel, m.done, m.table = node, cancel, make(chan struct{}), nil
	listener := m.cluster.network.listen(m.name)
	go func() {
		defer close(m.done)
		if err := node.Run(ctx, listener); !errors.Is(err, context.Canceled) {
			m.cluster.Error(err)
		}
	}()
}

func (m *member) stop() {
	m.cancel()
	<-m.done
	m.table = nil
}

func (c *cluster) close() {
	for _, m := range c.members {
		m.stop()
		if err := m.store.Close(); err != nil {
			c.Error(err)
		}
	}
}

// lead makes a member the leader, which must have all that is surely kept.
func (m *member) lead() {
	c := m.cluster
	if m.table != nil && m.node.Status().Role == Leader {
		return
	}
	epoch, err := m.node.Lead(context.Background())
	if err != nil {
		c.Fatal(err)
	}
	if err := m.store.Sync(context.Background()); err != nil {
		c.Fatal(err)
	}
	m.batch = &store.Batch{}
	m.table, err = m.store.Groups(group.Config{Journal: func(e group.Entry) { m.batch.Entries = append(m.batch.Entries, e) }})
	if err != nil {
		c.Fatal(err)
	}
	if err := m.table.Resume(time.Now(), epoch); err != nil {
		c.Fatal(err)
	}
	m.commit()
}

// checkSure holds that nothing is lost that was acknowledged with followers.
func (m *member) checkSure() {
	m.cluster.mu.Lock()
	defer m.cluster.mu.Unlock()
	for id := range m.cluster.sure {
		if _, ok, err := m.store.Record("batch", binary.BigEndian.AppendUint64(nil, id)); !ok || err != nil {
			m.cluster.Errorf("%s at %v has not batch %d, which was acknowledged: %v", m.name, m.store.Position(), id, err)
		}
	}
}

var pkeys = []ib.PKey{ib.DefaultPKey}

// join changes the table; refusals are as good as joins.
func (m *member) join(mgid, port int, leave bool) {
	p := &group.Port{GID: ib.NewGID(ib.DefaultPrefix, ib.GUID(port+1)), PKeys: pkeys, MTU: ib.MTU4096, Rate: ib.Rate100}
	r := &group.Request{
		Has: group.CreateComponents, MGID: ib.MGID{0: 0xff, 1: 0x12, 15: byte(mgid)}, PortGID: p.GID,
		JoinState: 1, Member: p, Requester: p, Params: group.Params{PKey: ib.DefaultPKey},
	}
	if leave {
		_, _ = m.table.Leave(time.Now(), r)
	} else if _, err := m.table.Join(time.Now(), r); err != nil {
		m.cluster.Error(err)
	}
}

// commit commits what the table told, with a record. A member that was deposed
// has no table then.
func (m *member) commit() {
	c := m.cluster
	id := c.batches
	c.batches++
	b := m.batch
	m.batch = &store.Batch{}
	b.Put(store.Record{Bucket: "batch", Key: binary.BigEndian.AppendUint64(nil, id), Version: 1})
	err := m.node.Commit(context.Background(), b, func(r store.Result) {
		c.mu.Lock()
		defer c.mu.Unlock()
		if r.Err == nil && r.Followers >= c.config.Wait {
			c.sure[id] = true
		}
	})
	switch {
	case errors.Is(err, ErrNotLeader), errors.Is(err, store.ErrStale):
		m.table = nil
		return
	case err != nil:
		c.Fatal(err)
	}
	c.digests[b.At] = digest(m.table)
}

// digest is the same for tables with the same content.
func digest(t *group.Table) string {
	var lines []string
	for e := range t.Snapshot() {
		if e.Kind != group.EntryCheckpoint {
			lines = append(lines, string(e.AppendTo(nil)))
		}
	}
	slices.Sort(lines)
	return fmt.Sprintf("%d entries, seq %d, epoch %d, %08x", len(lines), t.Seq(), t.Epoch(), crc32.ChecksumIEEE([]byte(strings.Join(lines, "|"))))
}

// checkPrefix holds that a member's table is one that a leader had.
func (m *member) checkPrefix() {
	c := m.cluster
	if err := m.store.Sync(context.Background()); err != nil {
		c.Fatal(err)
	}
	at := m.store.Position()
	if at == (store.Position{}) {
		return
	}
	table, err := m.store.Groups(group.Config{})
	if err != nil {
		c.Fatal(err)
	}
	if want, ok := c.digests[at]; !ok || digest(table) != want {
		c.Errorf("%s at %v: %s, want %s", m.name, at, digest(table), want)
	}
}

// settle lets time go on until all that can happen has happened.
func (c *cluster) settle() {
	time.Sleep(30 * time.Second) // virtual
	synctest.Wait()
}

// checkAgreed holds that all members have what a leader has.
func (c *cluster) checkAgreed(leader *member) {
	for _, m := range c.members {
		m.checkPrefix()
		if got, want := m.store.Position(), leader.store.Position(); got != want {
			c.Errorf("%s is at %v, the leader %s at %v", m.name, got, leader.name, want)
		}
	}
}
