package bench

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"time"

	"heddle/fabric"
	"heddle/ib"
	"heddle/internal/peer"
	"heddle/mad"
	"heddle/sa"
	"heddle/umad"
)

// duo is a kind of manager that runs twice: a master, and one that stands by.
type duo struct {
	name  string
	poll  time.Duration // how often the standby asks the master, by default
	polls int           // that the master must not have answered to count as dead
	start func(ctx context.Context, s *smStage, g *ground) (d *manned, err error)
}

// manned are the two processes, at the first and at the third adapter. Of these
// the first has the lower GUID: it stays master.
type manned struct{ master, standby *peer.Process }

const (
	masterAdapter  = 0
	clientAdapter  = 1
	standbyAdapter = 2
)

func (d *manned) stop() {
	d.master.Stop()
	d.standby.Stop()
}

// duos are those that are compared, heddle's first.
func (m *SM) duos() []duo {
	list := []duo{{"heddle", time.Second, 4, startHeddles}}
	if m.Peer {
		list = append(list, duo{"OpenSM", 10 * time.Second, 4, startOpenSMs})
	}
	return list
}

// startHeddles starts two that share their state: a join is answered when both
// have it.
func startHeddles(ctx context.Context, s *smStage, g *ground) (*manned, error) {
	addresses, err := freeAddresses(2)
	if err != nil {
		return nil, err
	}
	if err := os.WriteFile(filepath.Join(g.dir, "secret"), []byte(rand.Text()), 0o600); err != nil {
		return nil, err
	}
	launch := func(id, adapter int) (*peer.Process, error) {
		return launchHeddle(s, g, adapter, "--state", fmt.Sprintf("state%d", id), "--replica-id", fmt.Sprint(id), "--replica-secret", "secret",
			"--replica-listen", addresses[id-1], "--replica-peers", addresses[2-id], "--replica-wait", "1")
	}
	master, err := launch(1, masterAdapter)
	if err != nil {
		return nil, err
	}
	err = (&managing{Process: master}).sweeps(ctx)
	var standby *peer.Process
	if err == nil {
		standby, err = launch(2, standbyAdapter)
	}
	if err != nil {
		master.Stop()
		return nil, err
	}
	return &manned{master, standby}, nil
}

// freeAddresses are some that nobody listens at.
func freeAddresses(n int) (list []string, err error) {
	for range n {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, err
		}
		defer l.Close() //nolint:errcheck // it was never used
		list = append(list, l.Addr().String())
	}
	return list, nil
}

// startOpenSMs starts two with their defaults.
func startOpenSMs(ctx context.Context, s *smStage, g *ground) (*manned, error) {
	launch := func(adapter int) (*peer.OpenSM, error) {
		dir, err := os.MkdirTemp(g.dir, "opensm")
		if err != nil {
			return nil, err
		}
		return peer.StartOpenSM(dir, g.name, s.adapter(adapter))
	}
	master, err := launch(masterAdapter)
	if err != nil {
		return nil, err
	}
	var standby *peer.OpenSM
	if err = master.WaitSubnetUp(ctx); err == nil {
		standby, err = launch(standbyAdapter)
	}
	if err != nil {
		master.Stop()
		return nil, err
	}
	return &manned{master.Process, standby.Process}, nil
}

// failover is what came of a master's death.
type failover struct {
	duo
	answered, told         time.Duration // from the death to the first answer of the other, and to that for all groups
	groups, kept, right    int
	mftSets, lftSets, smps int
}

func failoverMetrics() []metric[failover] {
	count := func(name string, f func(f failover) int) metric[failover] {
		return metric[failover]{name, "", func(x failover) float64 { return float64(f(x)) }}
	}
	return []metric[failover]{
		{"poll interval", "s", func(f failover) float64 { return f.poll.Seconds() }},
		count("polls without an answer", func(f failover) int { return f.polls }),
		{"master's death to standby's first answer", "s", func(f failover) float64 { return f.answered.Seconds() }},
		{"master's death to answers for all groups", "s", func(f failover) float64 { return f.told.Seconds() }},
		count("groups before", func(f failover) int { return f.groups }),
		count("groups after, with the same MLIDs", func(f failover) int { return f.kept }),
		count("groups whose packets reach all members", func(f failover) int { return f.right }),
		count("MFT Sets meanwhile", func(f failover) int { return f.mftSets }),
		count("LFT Sets meanwhile", func(f failover) int { return f.lftSets }),
		count("SMPs meanwhile", func(f failover) int { return f.smps }),
	}
}

// Failover joins the groups of a load, kills the master, and returns figures of
// when the standby answered in its place, and of what it kept. Both managers
// have their defaults; those of heddle share their state, which OpenSM cannot.
// The emulated subnet simulates, as it counts Sets.
func (m *SM) Failover(ctx context.Context, spec string, l Load) ([]Figure, error) {
	s, err := m.stage(ctx, spec, true)
	if err != nil {
		return nil, err
	}
	defer s.close()
	results := make([][]failover, len(m.duos()))
	for run := range m.Runs {
		for i, v := range m.duos() {
			s.watch("%s: failover of %s, groups %s, run %d of %d", spec, v.name, l, run+1, m.Runs)
			got, err := s.failover(ctx, v, l)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", v.name, err)
			}
			results[i] = append(results[i], got)
		}
	}
	return figures(s.stage, fmt.Sprintf("failover, groups %s present", l), results, failoverMetrics()), nil
}

func (s *smStage) failover(ctx context.Context, v duo, l Load) (got failover, err error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	g, err := s.ground(ctx)
	if err != nil {
		return got, err
	}
	defer g.stop()
	d, err := v.start(ctx, s, g)
	if err != nil {
		return got, err
	}
	defer d.stop()
	port, err := s.port(g, clientAdapter)
	if err != nil {
		return got, err
	}
	defer port.Close() //nolint:errcheck // all is said
	b := bereaved{joiner: &joiner{port: port}, live: g, got: failover{duo: v}}
	if b.view, err = s.look(ctx, port); err != nil {
		return got, err
	}
	if b.groups, err = l.generate(b.view.Fabric); err != nil {
		return got, err
	}
	if b.standby, err = b.lid(s.fabric, standbyAdapter); err != nil {
		return got, err
	}
	err = b.run(ctx, d)
	return b.got, err
}

// bereaved is the client of two managers, the master of which dies.
type bereaved struct {
	*joiner
	live    *ground
	standby ib.LID
	got     failover
}

// lid is that of an adapter.
func (b *bereaved) lid(f *fabric.Fabric, adapter int) (ib.LID, error) {
	node := f.Node(f.Adapters()[adapter])
	id, ok := b.view.Fabric.ByGUID(node.GUID)
	if !ok {
		return 0, fmt.Errorf("%s is not found", node.Name)
	}
	return b.view.Fabric.Port(fabric.End{Node: id, Port: 1}).LID, nil
}

func (b *bereaved) run(ctx context.Context, d *manned) error {
	if err := b.await(ctx, mad.SMStandby); err != nil {
		return err
	}
	meter := emulatedMeter(b.live)
	if _, _, err := meter.watched(ctx, func() error { return b.join(ctx) }); err != nil {
		return err
	}
	if err := b.await(ctx, mad.SMStandby); err != nil {
		return err
	}
	before, _ := b.live.stats()
	meter = emulatedMeter(b.live)
	start := time.Now()
	d.master.Stop()
	c, ended, err := meter.watched(ctx, func() error { return b.ask(ctx, start) })
	if err != nil {
		return err
	}
	after, _ := b.live.stats()
	b.got.told, b.got.mftSets, b.got.groups = ended.Sub(start), c.sets, len(b.groups)
	b.got.lftSets, b.got.smps = int(after.LFTSets-before.LFTSets), int(after.SMPs-before.SMPs)
	return b.check(ctx)
}

// check counts the groups whose tables are right.
func (b *bereaved) check(ctx context.Context) error {
	tables, err := readMFTs(ctx, b.port, b.view, slices.Max(b.mlids))
	if err != nil {
		return err
	}
	for i, g := range b.groups {
		if tables.check(b.view.Fabric, g.Members, b.mlids[i]) == nil {
			b.got.right++
		}
	}
	return nil
}

// await waits until the manager that stands by is in a state.
func (b *bereaved) await(ctx context.Context, state mad.SMState) error {
	const pause = 20 * time.Millisecond
	tick := time.NewTicker(pause)
	defer tick.Stop()
	for {
		answer, err := b.port.Call(ctx, get(umad.ToSMA(b.standby), mad.ClassLID, mad.AttrSMInfo), umad.CallOptions{})
		if err == nil && answer.Datagram().Status() == mad.StatusOK {
			if info, err := mad.ParseSMInfo(answer.Datagram().Data()); err == nil && info.SMState == state {
				return nil
			}
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("the manager at LID %d is not %v: %w", b.standby, state, context.Cause(ctx))
		}
	}
}

// ask asks the manager that stands by for all groups, the first one until it
// answers.
func (b *bereaved) ask(ctx context.Context, death time.Time) error {
	to := umad.ToLID(b.standby)
	c := sa.New(b.port, sa.Options{Address: &to, Call: umad.CallOptions{Timeout: 50 * time.Millisecond}})
	for i := range b.groups {
		r, err := b.query(ctx, c, i)
		for i == 0 && errors.Is(err, umad.ErrTimeout) {
			r, err = b.query(ctx, c, i)
		}
		if i == 0 {
			b.got.answered = time.Since(death)
		}
		var status *umad.StatusError
		switch {
		case err == nil && r.MLID == b.mlids[i]:
			b.got.kept++
		case err != nil && !errors.As(err, &status):
			return err
		}
	}
	return nil
}

func (b *bereaved) query(ctx context.Context, c *sa.Client, group int) (mad.MCMemberRecord, error) {
	return sa.Get(ctx, c, mad.MCMemberRecord{MGID: b.mgid(group)}, mad.MCMemberRecordMGID)
}
