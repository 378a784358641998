package collective

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"heddle/verbs"
)

// Group is ranks that work together. See the package's comment for who may call
// what.
type Group struct {
	rank, size int
	cfg        Config
	way        Way
	number     uint32
	dev        verbs.Context
	caps       verbs.Caps

	pd     verbs.PD
	memory *verbs.Memory
	mr     verbs.MR
	layout
	rc  verbs.CQ // of requests to peers
	wcs []verbs.WC
	ud  *datagrams // nil without multicast

	peers   []*peer   // by rank; nil for this one, and where none is needed
	streams []*stream // by rank of the root; nil for others, and for this one
	source  *source   // nil where this rank is no root
	tree    *tree
	ready   bool // the group is, as far as this rank knows
	asking  bool // rank 0 about that
	callers int  // peers that are being called

	turn       turn // of an operation, or of who attends between them
	closed     atomic.Bool
	stop       context.CancelFunc // ends who attends
	attendants sync.WaitGroup
	err        error // ends all
	stats      counters
}

// peer is another rank.
type peer struct {
	rank                int
	qp                  verbs.QP
	rings, haves, tails place
	gone                bool
	reconnect
}

// New makes the group of size ranks, of which this is the rank-th, and returns when
// all have done so. The device stays the caller's, and is closed after the group.
func New(ctx context.Context, dev verbs.Context, rank, size int, exchange Exchange, cfg Config) (*Group, error) {
	cfg, err := cfg.filled(rank, size)
	if err != nil {
		return nil, &Error{Op: "new group", Rank: rank, Peer: -1, Err: err}
	}
	caps := dev.Caps()
	g := &Group{rank: rank, size: size, cfg: cfg, way: wayOf(&caps, cfg.Joiner, cfg.Way), dev: dev, caps: caps, wcs: make([]verbs.WC, 32), turn: make(turn, 1)}
	if err := g.found(ctx, exchange); err != nil {
		return nil, errors.Join(&Error{Op: "new group", Rank: rank, Peer: -1, Err: err}, g.release())
	}
	return g, nil
}

// Rank is this rank, from 0.
func (g *Group) Rank() int { return g.rank }

// Size is how many ranks there are.
func (g *Group) Size() int { return g.size }

// Way is how broadcasts go.
func (g *Group) Way() Way { return g.way }

// found makes all of the group.
func (g *Group) found(ctx context.Context, exchange Exchange) error {
	if err := g.open(); err != nil {
		return err
	}
	mine, err := g.hello()
	if err != nil {
		return err
	}
	words, err := exchange.AllGather(ctx, mine.encode())
	if err != nil {
		return fmt.Errorf("exchange: %w", err)
	}
	err = g.meet(ctx, mine, words)
	if err == nil && g.way == ByMulticast {
		err = g.ud.join(ctx, g.cfg.Joiner)
	}
	return g.agree(ctx, exchange, err)
}

// agree has all ranks fail where one does.
func (g *Group) agree(ctx context.Context, exchange Exchange, mine error) error {
	var word []byte
	if mine != nil {
		word = []byte(mine.Error())
	}
	all, err := exchange.AllGather(ctx, word)
	switch {
	case mine != nil:
		return mine
	case err != nil:
		return fmt.Errorf("exchange: %w", err)
	}
	for r, w := range all {
		if len(w) > 0 {
			return fmt.Errorf("rank %d failed: %s", r, w)
		}
	}
	if g.way != ByMulticast {
		return nil
	}
	if err := g.announce(ctx); err != nil {
		return err
	}
	attending, stop := context.WithCancel(context.Background())
	g.stop = stop
	g.attendants.Go(func() { g.attend(attending) })
	return nil
}

// open makes what needs no peer.
func (g *Group) open() (err error) {
	if g.pd, err = g.dev.AllocPD(); err != nil {
		return err
	}
	if !g.cfg.BcastOnly || g.way == ByTree {
		if g.tree, err = newTree(g); err != nil || g.way == ByTree {
			return err
		}
	}
	if err := g.measure(); err != nil {
		return err
	}
	depth := 0
	if g.way == ByMulticast {
		depth = min(g.cfg.Slots, g.dev.Attr().MaxQPWR)
	}
	if err := g.allocate(depth); err != nil {
		return err
	}
	if g.rc, err = g.dev.CreateCQ(verbs.CQAttr{Depth: (g.size + 1) * requests}); err != nil {
		return err
	}
	if g.way == ByMulticast {
		if g.ud, err = newDatagrams(g, depth); err != nil {
			return err
		}
	}
	return g.roles()
}

// measure finds the length of a chunk.
func (g *Group) measure() error {
	port, err := g.dev.Port(1)
	if err != nil {
		return err
	}
	most := port.ActiveMTU.Bytes()
	if most <= headerSize {
		most = 4096 // of devices without packets
	}
	if g.caps.MaxMessage > 0 {
		most = min(most, g.caps.MaxMessage)
	}
	if g.cfg.Chunk == 0 || g.cfg.Chunk > most {
		g.cfg.Chunk = most
	}
	g.cfg.Chunk &^= 7 // words stay aligned
	if g.cfg.Chunk <= headerSize {
		return fmt.Errorf("messages of %d bytes have no room beside a header of %d: %w", most, headerSize, verbs.ErrNotSupported)
	}
	return nil
}

// roles makes what this rank needs as root and as reader.
func (g *Group) roles() error {
	g.streams = make([]*stream, g.size)
	for i, root := range g.cfg.Roots {
		if root == g.rank {
			g.source = newSource(g, i)
		} else {
			g.streams[root] = newStream(g, root, i)
		}
	}
	g.peers = make([]*peer, g.size)
	for r := range g.size {
		if !g.linked(r) {
			continue
		}
		qp, err := g.pd.CreateQP(verbs.QPAttr{
			Type: verbs.RC, SendCQ: g.rc, RecvCQ: g.rc, SendWR: requests, RecvWR: 1,
			Timeout: g.cfg.Timeout, Access: verbs.RemoteRead | verbs.RemoteWrite,
		})
		if err != nil {
			return fmt.Errorf("queue pair for rank %d: %w", r, err)
		}
		g.peers[r] = &peer{rank: r, qp: qp}
	}
	return nil
}

// requests is how many may be under way to a peer.
const requests = 64

// linked tells whether this rank and another one READ and WRITE each other's
// memory.
func (g *Group) linked(r int) bool {
	if r == g.rank {
		return false
	}
	isRoot := func(r int) bool { return r == 0 || slices.Contains(g.cfg.Roots, r) }
	apart := (r - g.rank + g.size) % g.size
	return isRoot(r) || isRoot(g.rank) || apart == 1 || apart == g.size-1 ||
		g.way == ByRead && (power(apart) || power(g.size-apart))
}

// power tells whether n is a power of two: in a binomial tree over the ranks, from
// whichever root, each edge spans so many.
func power(n int) bool { return n > 0 && n&(n-1) == 0 }

// hello is what others have to know of this rank.
func (g *Group) hello() (*hello, error) {
	h := &hello{
		Version: version, Rank: g.rank, Number: rand.Uint32(), Way: g.way, Slots: g.cfg.Slots, Chunk: g.cfg.Chunk,
		Roots: g.cfg.Roots, Endpoints: make([][]byte, g.size),
	}
	if g.way != ByTree {
		h.Rings, h.Haves, h.Tails = g.rings.place(), g.haves.place(), g.tails.place()
	}
	for r, p := range g.peers {
		if p != nil {
			h.Endpoints[r] = p.qp.Endpoint()
		}
	}
	var err error
	if g.tree != nil {
		h.Channels, err = g.tree.hello()
	}
	return h, err
}

// meet connects with all peers.
func (g *Group) meet(ctx context.Context, mine *hello, words [][]byte) error {
	hellos, err := decodeHellos(words, mine, g.size)
	if err != nil {
		return err
	}
	g.number = hellos[0].Number
	errs := make(chan error)
	for r, p := range g.peers {
		go func() { errs <- g.connect(ctx, p, &hellos[r]) }()
	}
	for range g.peers {
		err = errors.Join(err, <-errs)
	}
	if err != nil {
		return err
	}
	for _, s := range g.streams {
		if s != nil {
			s.choose()
		}
	}
	if g.tree == nil {
		return nil
	}
	return g.tree.meet(ctx, hellos)
}

func (g *Group) connect(ctx context.Context, p *peer, h *hello) error {
	if p == nil {
		return nil
	}
	p.rings, p.haves, p.tails = h.Rings, h.Haves, h.Tails
	if err := p.qp.Connect(ctx, h.Endpoints[g.rank]); err != nil {
		return fmt.Errorf("connect to rank %d: %w", p.rank, err)
	}
	return nil
}

// Close ends the group. What this rank sent is kept for readers who still need it,
// as long as Config.Linger says.
func (g *Group) Close() error {
	if !g.closed.CompareAndSwap(false, true) {
		return nil
	}
	if g.stop != nil {
		g.stop()
		g.attendants.Wait()
	}
	g.turn.take()
	defer g.turn.give()
	ctx, cancel := context.WithTimeout(context.Background(), g.cfg.Linger)
	defer cancel()
	if g.err == nil && g.way != ByTree {
		g.farewell(ctx)
	}
	err := g.release()
	if g.cfg.Joiner != nil && g.way == ByMulticast {
		err = errors.Join(err, g.leave())
	}
	return err
}

// leaveLimit is how long a rank tries to leave its multicast group.
const leaveLimit = 5 * time.Second

func (g *Group) leave() error {
	ctx, cancel := context.WithTimeout(context.Background(), leaveLimit)
	defer cancel()
	return g.cfg.Joiner.Leave(ctx)
}

// farewell tells roots how far this rank is, and waits for its own readers.
func (g *Group) farewell(ctx context.Context) {
	_ = g.await(ctx, time.Time{}, func() bool { // what is late is lost
		done := g.source == nil || g.source.room(uint64(g.cfg.Slots))
		for _, s := range g.streams {
			if s != nil {
				done = s.tell(true) && !s.telling && done
			}
		}
		return done
	})
}

// release closes what was made, in the order in which it hangs together.
func (g *Group) release() (err error) {
	drop := func(one interface{ Close() error }) { err = errors.Join(err, one.Close()) }
	if g.tree != nil {
		drop(g.tree)
	}
	for _, p := range g.peers {
		if p != nil {
			drop(p.qp)
		}
	}
	if g.ud != nil {
		drop(g.ud)
	}
	if g.rc != nil {
		drop(g.rc)
	}
	if g.mr != nil {
		drop(g.mr)
	}
	if g.memory != nil {
		drop(g.memory)
	}
	if g.pd != nil {
		drop(g.pd)
	}
	return err
}
