package cli_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"heddle/emu"
	"heddle/fabric"
	"heddle/fabric/topology"
	"heddle/ib"
	"heddle/internal/testenv"
	"heddle/mad"
	"heddle/sa"
	"heddle/umad"
)

var kills = flag.Int("kills", 6, "how often heddle sm is killed")

// TestKilledManager kills heddle sm again and again, at any moment, while hosts
// join, leave, offer services and subscribe, and links come and go. The one that
// follows has all that was answered, at the same MLIDs, brings the tables to
// what they should be, and has no MLID for nobody.
func TestKilledManager(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	v := newVictim(t, rand.New(rand.NewPCG(seed, 1)))
	for n := range *kills {
		if n%3 == 2 { // before it is master, or in its first sweep
			v.launch()
			pause(t.Context(), time.Duration(v.random.IntN(80))*time.Millisecond)
			v.kill()
		}
		v.start()
		v.remembers()
		v.liveAndDie(time.Duration(v.random.IntN(700)) * time.Millisecond)
		if t.Failed() {
			t.Fatalf("at kill %d of seed %d; the manager said:\n%s", n, seed, &v.log)
		}
	}
	v.start()
	v.remembers()
	v.isRight()
	v.kill()
	if n := v.answered.Load(); n == 0 {
		t.Error("nothing was ever answered")
	} else {
		t.Logf("%d kills, %d requests answered before", *kills, n)
	}
	if t.Failed() {
		t.Logf("seed %d; the manager said:\n%s", seed, &v.log)
	}
}

// victim is a heddle sm that is killed, with its subnet and what it promised.
type victim struct {
	*testing.T
	random *rand.Rand
	fabric *fabric.Fabric
	live   *emu.Live
	args   []string // of heddle sm
	port   string
	cmd    *exec.Cmd
	log    bytes.Buffer

	asking   []*asking
	trusted  *sa.Client
	answered atomic.Int64
}

// asking is a client at a host and what it knows.
type asking struct {
	*sa.Client
	port *umad.Port
	gid  ib.GID
	// members are those of which it was told; the value is the MLID. Of those
	// in doubt it asked, and got no answer.
	members  map[member]ib.MLID
	doubt    map[member]bool
	services map[uint64]bool // false for those in doubt
	subs     map[ib.QPN]bool
}

type member struct {
	group ib.MGID
	port  ib.GID
}

func newVictim(t *testing.T, random *rand.Rand) *victim {
	f, err := topology.Generate("fat-tree:k=4")
	if err != nil {
		t.Fatal(err)
	}
	live, err := emu.Start(f, emu.Config{})
	if err != nil {
		t.Fatal(err)
	}
	name := testenv.SocketName(t)
	server, err := live.Serve(name, emu.ServeConfig{Probe: probe})
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	v := &victim{T: t, random: random, fabric: f, live: live, port: "ibsim:" + name + "/host-00"}
	v.args = []string{"--port", v.port, "--state", filepath.Join(dir, "state"), "--timeout", "50ms"}
	for i := range 5 {
		v.asking = append(v.asking, v.client(f.Adapters()[i*3+1]))
	}
	v.trusted = sa.New(v.asking[0].port, sa.Options{SMKey: 1, Call: umad.CallOptions{Timeout: 100 * time.Millisecond}})
	t.Cleanup(func() {
		for _, c := range v.asking {
			err = errors.Join(err, c.port.Close())
		}
		if err := errors.Join(err, server.Close(), live.Close()); err != nil {
			t.Error(err)
		}
	})
	return v
}

func (v *victim) client(host fabric.NodeID) *asking {
	dev, err := v.live.Open(v.fabric.Node(host).ID, 0)
	if err != nil {
		v.Fatal(err)
	}
	port := umad.NewPort(dev)
	info, err := port.Info()
	if err != nil {
		v.Fatal(err)
	}
	return &asking{
		Client: sa.New(port, sa.Options{Call: umad.CallOptions{Timeout: 50 * time.Millisecond, Retries: 2}}),
		port:   port, gid: info.GID(),
		members: map[member]ib.MLID{}, doubt: map[member]bool{}, services: map[uint64]bool{}, subs: map[ib.QPN]bool{},
	}
}

// launch starts the manager.
func (v *victim) launch() {
	v.Helper()
	v.log.Reset()
	v.cmd = exec.CommandContext(v.Context(), "heddle", append([]string{"sm"}, v.args...)...)
	v.cmd.Stderr = &v.log
	if err := v.cmd.Start(); err != nil {
		v.Fatal(err)
	}
}

// start starts the manager, and waits until it answers.
func (v *victim) start() {
	v.Helper()
	v.launch()
	ctx, cancel := context.WithTimeout(v.Context(), time.Minute)
	defer cancel()
	for {
		_, err := sa.Query(ctx, v.trusted, mad.NodeRecord{}, 0)
		if err == nil {
			return
		}
		if ctx.Err() != nil {
			v.Fatalf("it does not answer: %v; it said:\n%s", err, &v.log)
		}
		if errors.Is(err, sa.ErrNoSM) {
			pause(ctx, 10*time.Millisecond)
		}
	}
}

func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// probe is how soon the emulator notices that a client is gone.
const probe = 20 * time.Millisecond

// kill kills it without a word, and gives the emulator time to notice: until then
// the port is taken for the next one.
func (v *victim) kill() {
	v.Helper()
	if err := v.cmd.Process.Kill(); err != nil {
		v.Fatal(err)
	}
	if err := v.cmd.Wait(); err == nil || v.cmd.ProcessState.Exited() {
		v.Errorf("it ended by itself: %v; it said:\n%s", v.cmd.ProcessState, &v.log)
	}
	pause(v.Context(), 3*probe)
}

// liveAndDie lets the clients ask and links flap for a while, and then kills.
func (v *victim) liveAndDie(after time.Duration) {
	v.Helper()
	ctx, cancel := context.WithCancel(v.Context())
	var busy sync.WaitGroup
	for i, c := range v.asking {
		random := rand.New(rand.NewPCG(v.random.Uint64(), uint64(i)))
		busy.Go(func() {
			for ctx.Err() == nil {
				v.ask(ctx, c, random)
			}
		})
	}
	trunk := v.trunk()
	v.must(v.live.Do(func(s *emu.Subnet) error { s.CutLink(trunk); return nil }))
	pause(v.Context(), after/2)
	v.must(v.live.Do(func(s *emu.Subnet) error { s.RestoreLink(trunk); return nil }))
	pause(v.Context(), after-after/2)
	v.kill()
	cancel()
	busy.Wait()
}

func (v *victim) must(err error) {
	v.Helper()
	if err != nil {
		v.Fatal(err)
	}
}

// trunk is a link between switches, without which all can still reach all.
func (v *victim) trunk() fabric.LinkID {
	for {
		id := fabric.LinkID(v.random.IntN(v.fabric.NumLinks()))
		l := v.fabric.Link(id)
		if v.fabric.Node(l.A.Node).Kind == fabric.Switch && v.fabric.Node(l.B.Node).Kind == fabric.Switch {
			return id
		}
	}
}

// ask asks for one thing.
func (v *victim) ask(ctx context.Context, c *asking, random *rand.Rand) {
	switch random.IntN(8) {
	case 0:
		id := random.Uint64N(100)
		_, err := c.Register(ctx, mad.ServiceRecord{ServiceID: id, ServicePKey: ib.DefaultPKey, ServiceLease: mad.ServiceLeaseForever}, 0)
		if v.heard(err) || !c.services[id] {
			c.services[id] = err == nil
		}
	case 1:
		qpn := ib.QPN(random.IntN(100) + 2)
		err := c.subscribe(ctx, qpn)
		if v.heard(err) || !c.subs[qpn] {
			c.subs[qpn] = err == nil
		}
	case 2, 3:
		v.leave(ctx, c)
	case 4:
		v.collect(ctx, c, random)
	default:
		v.join(ctx, c, mad.MCMemberRecord{MGID: killMGID(1, uint64(random.IntN(25))), PortGID: c.gid, PKey: ib.DefaultPKey}, sa.MCMemberCreate)
	}
}

// heard tells whether a request was answered. None may be refused, but by the
// host's own agent when there is no manager there any more.
func (v *victim) heard(err error) bool {
	var refused *umad.StatusError
	if errors.As(err, &refused) && refused.Status != mad.StatusBadVersion {
		v.Errorf("refused: %v", err)
	}
	if err == nil {
		v.answered.Add(1)
	}
	return err == nil
}

func killMGID(kind byte, n uint64) ib.MGID {
	g := ib.MustParseMGID("ff12:a01c::")
	g[6], g[14], g[15] = kind, byte(n>>8), byte(n)
	return g
}

func (v *victim) join(ctx context.Context, c *asking, r mad.MCMemberRecord, mask mad.ComponentMask) {
	m := member{r.MGID, r.PortGID}
	if _, known := c.members[m]; !known {
		c.doubt[m] = true
	}
	got, err := c.Join(ctx, r, mask)
	if !v.heard(err) {
		return
	}
	if was, known := c.members[m]; known && was != got.MLID {
		v.Errorf("%v had MLID %v, and has %v", m, was, got.MLID)
	}
	c.members[m] = got.MLID
	delete(c.doubt, m)
}

// collect joins a collected group of two, of which the client knows both.
func (v *victim) collect(ctx context.Context, c *asking, random *rand.Rand) {
	g := killMGID(2+c.gid[15], random.Uint64N(3))
	for _, port := range []ib.GID{c.gid, v.asking[0].gid} {
		if c == v.asking[0] && port == c.gid {
			port = v.asking[1].gid
		}
		r := mad.MCMemberRecord{MGID: g, PortGID: port, PKey: ib.DefaultPKey, MemberCount: 2}
		v.join(ctx, c, r, sa.MCMemberCreate|mad.MCMemberRecordPortGID|mad.MCMemberRecordMemberCount)
	}
}

// leave leaves one of the plain groups.
func (v *victim) leave(ctx context.Context, c *asking) {
	for m := range c.members {
		if m.group[6] != 1 {
			continue
		}
		delete(c.members, m)
		c.doubt[m] = true
		if v.heard(c.Leave(ctx, mad.MCMemberRecord{MGID: m.group, PortGID: m.port})) {
			delete(c.doubt, m)
		}
		return
	}
}

func (c *asking) subscribe(ctx context.Context, qpn ib.QPN) error {
	i := mad.InformInfo{
		IsGeneric: true, Subscribe: true, Type: mad.InformAll, Trap: mad.TrapGroupCreated, Producer: mad.ProducerAll,
		LIDRangeBegin: ib.PermissiveLID, QPN: qpn,
	}
	info, err := c.port.Info()
	if err != nil {
		return err
	}
	var d mad.Datagram
	d.SetHeader(mad.Header{Class: mad.ClassSA, ClassVersion: 2, Method: mad.MethodSet, Attr: mad.AttrInformInfo})
	i.AppendTo(d[56:56])
	answer, err := c.port.Call(ctx, &umad.Message{Address: umad.ToLID(info.SMLID), Data: d[:]}, umad.CallOptions{Timeout: 50 * time.Millisecond, Retries: 2})
	if err != nil {
		return err
	}
	if answer.Datagram().Status() == mad.StatusBusy {
		return umad.ErrTimeout
	}
	return answer.StatusError()
}

// remembers compares what the manager knows with what the clients were told.
func (v *victim) remembers() {
	v.Helper()
	ctx := v.Context()
	records, err := sa.Query(ctx, v.trusted, mad.MCMemberRecord{}, 0)
	v.must(err)
	there := map[member]ib.MLID{}
	for _, r := range records {
		if r.PortGID.IsValid() {
			there[member{r.MGID, r.PortGID}] = r.MLID
		}
	}
	services, err := sa.Query(ctx, v.trusted, mad.ServiceRecord{}, 0)
	v.must(err)
	subs, err := sa.Query(ctx, v.trusted, mad.InformInfoRecord{}, 0)
	v.must(err)
	for _, c := range v.asking {
		v.remembersMembers(c, there)
		for id, sure := range c.services {
			if sure && !slices.ContainsFunc(services, func(s mad.ServiceRecord) bool { return s.ServiceID == id && s.ServiceGID == c.gid }) {
				v.Errorf("service %d of %v is lost", id, c.gid)
			}
		}
		for qpn, sure := range c.subs {
			if sure && !slices.ContainsFunc(subs, func(s mad.InformInfoRecord) bool { return s.Info.QPN == qpn && s.SubscriberGID == c.gid }) {
				v.Errorf("subscription %d of %v is lost", qpn, c.gid)
			}
		}
	}
	for m := range there {
		v.Errorf("%v is a member, and left, or never asked", m)
	}
}

func (v *victim) remembersMembers(c *asking, there map[member]ib.MLID) {
	v.Helper()
	for m, mlid := range c.members {
		if got, ok := there[m]; !ok || got != mlid {
			v.Errorf("%v joined MLID %v; after the kill it has %v (%t)", m, mlid, got, ok)
		}
		delete(there, m)
	}
	for m := range c.doubt {
		if mlid, ok := there[m]; ok {
			c.members[m] = mlid
			delete(there, m)
		}
	}
	clear(c.doubt)
}

// isRight waits until all is written, and looks at where the switches send, and
// at how many MLIDs are in use.
func (v *victim) isRight() {
	v.Helper()
	var s struct {
		State, LastSweepError                string
		MLIDs, MLIDsRetiring, MLIDsUnsettled int
	}
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); pause(v.Context(), 300*time.Millisecond) {
		out, err := exec.CommandContext(v.Context(), "heddle", "sm", "status", "--port", v.port, "--json").Output()
		v.must(err)
		v.must(json.Unmarshal(out, &s))
		if s.State == "Master" && s.MLIDsRetiring == 0 && s.MLIDsUnsettled == 0 {
			break
		}
	}
	pause(v.Context(), time.Second) // joins are collected for a moment
	members := map[ib.MLID][]ib.GID{}
	for _, c := range v.asking {
		for m, mlid := range c.members {
			members[mlid] = append(members[mlid], m.port)
		}
	}
	if want := len(members) + 1; s.MLIDs != want { // and that of IP broadcast
		v.Errorf("%d MLIDs are in use (%d retiring, %d not written), want %d", s.MLIDs, s.MLIDsRetiring, s.MLIDsUnsettled, want)
	}
	for mlid, list := range members {
		for _, from := range list {
			if got := v.spread(mlid, from); !sameGIDs(got, without(list, from)) && len(list) > 1 {
				v.Errorf("MLID %v: a packet of %v reaches %v, of %v", mlid, from, got, list)
			}
		}
	}
}

func without(list []ib.GID, g ib.GID) []ib.GID {
	return slices.DeleteFunc(slices.Clone(list), func(x ib.GID) bool { return x == g })
}

func sameGIDs(a, b []ib.GID) bool {
	text := func(l []ib.GID) []string {
		var s []string
		for _, g := range l {
			s = append(s, g.String())
		}
		slices.Sort(s)
		return s
	}
	return slices.Equal(text(a), text(b))
}

// spread follows a packet through the switches' tables.
func (v *victim) spread(mlid ib.MLID, from ib.GID) (reached []ib.GID) {
	v.Helper()
	host, ok := v.fabric.ByGUID(from.GUID() - 1) // a port's is one more than its node's
	if !ok {
		v.Fatalf("no host has %v", from)
	}
	leaf, _ := v.fabric.Leaf(fabric.End{Node: host, Port: 1})
	for todo := []fabric.End{leaf}; len(todo) > 0 && len(todo)+len(reached) < 1000; {
		at := todo[0]
		todo = todo[1:]
		mask := v.forwards(at.Node, mlid)
		for port := uint16(1); port <= v.fabric.Node(at.Node).NumPorts; port++ {
			if port == at.Port || mask>>port&1 == 0 {
				continue
			}
			peer, _ := v.fabric.Peer(fabric.End{Node: at.Node, Port: port})
			if v.fabric.Node(peer.Node).Kind == fabric.Switch {
				todo = append(todo, peer)
			} else {
				reached = append(reached, ib.NewGID(from.Prefix(), v.fabric.Port(peer).GUID))
			}
		}
	}
	return reached
}

// forwards is the ports to which a switch sends an MLID.
func (v *victim) forwards(sw fabric.NodeID, mlid ib.MLID) uint16 {
	v.Helper()
	dev, err := v.live.Open(v.fabric.Node(sw).ID, 0)
	v.must(err)
	port := umad.NewPort(dev)
	defer port.Close() //nolint:errcheck // nothing is outstanding
	n := uint16(mlid - ib.FirstMLID)
	var d mad.Datagram
	d.SetHeader(mad.Header{Class: mad.ClassDirected, ClassVersion: 1, Method: mad.MethodGet, Attr: mad.AttrMulticastForwarding, Modifier: mad.MulticastModifier(n/32, 0)})
	v.must(d.SetPath(nil))
	answer, err := port.Call(v.Context(), &umad.Message{Address: umad.ByRoute(), Data: d[:]}, umad.CallOptions{})
	v.must(err)
	block, err := mad.ParseMulticastForwarding(answer.Datagram().Data())
	v.must(err)
	return block[n%32]
}

func (m member) String() string { return fmt.Sprintf("%v in %v", m.port, m.group) }
