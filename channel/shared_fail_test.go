package channel

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"heddle/verbs/sim"
)

// flock is many senders of one receiver, some of which stop or die, in the time of
// a clock that goes on by each turn.
type flock struct {
	*trial
	devices []*sim.Device
	leases  []*Lease
	sizes   []int // of what is in them
	goal    []uint64
	out     []bool   // stopped or dead
	back    []bool   // was stopped, and goes on
	done    []uint64 // what a dead one had certainly sent
	now     time.Time
	last    time.Time     // a message of one that goes on came
	gap     time.Duration // the longest time between two of them
	phases  map[string]int
}

const tick = 20 * time.Microsecond

func newFlock(t *testing.T, kind *Kind, profile sim.Profile, seed uint64, senders int) *flock {
	t.Helper()
	var faults sim.Faults
	if seed%2 == 1 {
		faults = sim.Faults{Loss: 0.01, Duplicate: 0.01}
	}
	w := newWorld(t, sim.Config{Profile: profile, Seed: seed, Faults: faults})
	size := min(2*profile.MTU.Bytes(), profile.Caps().MaxMessage) - 64
	cfg := Config{Slots: 8, Size: size, Ring: 8 * profile.MTU.Bytes(), Peers: senders, Linger: 1}
	r, err := w.transport("r").NewReceiver(kind, cfg)
	must(t, err)
	f := &flock{trial: &trial{world: w, kind: kind, receivers: []*Receiver{r}, size: size}, now: time.Unix(1, 0), phases: map[string]int{}}
	if shared := receiverOf(r); shared != nil {
		shared.clock = func() time.Time { return f.now }
	}
	for i := range senders {
		s, err := w.transport(fmt.Sprint("s", i)).NewSender(kind, cfg)
		must(t, err)
		must(t, Join(t.Context(), s, r))
		f.senders = append(f.senders, s)
	}
	devices, err := w.net.Devices()
	must(t, err)
	for _, d := range devices {
		if d.Name() != "r" {
			f.devices = append(f.devices, d.(*sim.Device))
		}
	}
	f.sent, f.came, f.next, f.held = make([]uint64, senders), make([]uint64, 1), [][]uint64{make([]uint64, senders)}, make([][]Message, 1)
	f.leases, f.sizes, f.goal = make([]*Lease, senders), make([]int, senders), make([]uint64, senders)
	f.out, f.back, f.done = make([]bool, senders), make([]bool, senders), make([]uint64, senders)
	f.last = f.now
	return f
}

// act has a sender do the next thing for a message, and no more.
func (f *flock) act(i int) {
	f.t.Helper()
	if l := f.leases[i]; l != nil {
		f.leases[i] = nil
		f.fill(l.Bytes()[:f.sizes[i]], i, f.sent[i])
		if err := l.Commit(f.sizes[i]); err != nil {
			f.late(i, err)
			return
		}
		f.sent[i]++
		return
	}
	if f.sent[i] == f.goal[i] {
		return
	}
	n := header + f.rnd.IntN(f.size-header+1)
	l, err := f.senders[i].TryReserve(n)
	switch {
	case err == nil:
		f.leases[i], f.sizes[i] = &l, n
	case !errors.Is(err, ErrWouldBlock):
		f.late(i, err)
	}
}

// late is told of a sender that failed: one that was stopped, and is late for a ring
// that was freed meanwhile, may lose its connection.
func (f *flock) late(i int, err error) {
	f.t.Helper()
	if !f.back[i] || !errors.Is(err, ErrPeerGone) {
		f.t.Fatalf("sender %d: %v", i, err)
	}
	f.t.Logf("sender %d came too late: %v", i, err)
	f.out[i] = true
}

// take receives, and sees how long nothing came.
func (f *flock) take() {
	f.t.Helper()
	before := slices.Clone(f.next[0])
	if _, fault := f.receive(0); fault != "" {
		f.t.Fatal(fault)
	}
	for i, n := range f.next[0] {
		if n != before[i] && !f.out[i] {
			f.gap = max(f.gap, f.now.Sub(f.last))
			f.last = f.now
		}
	}
}

// turn does one thing, of those who are not out.
func (f *flock) turn() {
	f.now = f.now.Add(tick)
	switch f.rnd.IntN(6) {
	case 0, 1:
		if i := f.rnd.IntN(len(f.senders)); !f.out[i] {
			f.act(i)
		}
	case 2, 3:
		f.take()
	case 4:
		f.release(0)
	case 5:
		f.step()
	}
}

// until has all go on until something is so, for which there is a time.
func (f *flock) until(what string, is func() bool) {
	f.t.Helper()
	for range 400_000 {
		if is() {
			return
		}
		f.turn()
	}
	f.t.Fatalf("%s: not yet; sent %d, came %d of %d", what, f.sent, f.next[0], f.goal)
}

// arrived tells whether all of those who are not out has come.
func (f *flock) arrived() bool {
	for i, goal := range f.goal {
		if !f.out[i] && f.next[0][i] < goal {
			return false
		}
	}
	return true
}

// approach has a sender go on by small steps, among them those of the network, and
// the others now and then, and then stop or die.
func (f *flock) approach(i, steps int, dies bool) {
	for range steps {
		switch f.rnd.IntN(5) {
		case 0, 1:
			f.act(i)
		case 2, 3:
			f.net.Step()
		default:
			f.turn()
		}
	}
	f.phases[f.phase(i)]++
	f.out[i] = true
	if dies {
		f.done[i] = f.completed(i)
		f.devices[i].Kill()
	}
	f.last = f.now
}

// completed is how many messages of a sender are with the receiver, as far as it
// knows: in a ring all before the last one.
func (f *flock) completed(i int) uint64 {
	if f.kind.Memory != RingShared {
		return f.senders[i].peers[0].retired
	}
	return f.sent[i] - min(f.sent[i], 1)
}

// phase is what a sender is about.
func (f *flock) phase(i int) string {
	s := senderOf(f.senders[i])
	switch {
	case s == nil && f.leases[i] != nil:
		return "with a lease"
	case s == nil:
		return "without a lease"
	case f.leases[i] != nil:
		return "with a lease"
	case s.claim.cells > 0 && !s.claim.placed:
		return "adds to the tail"
	case s.claim.cells > 0 && !s.known:
		return "looks for the ring"
	case s.claim.cells > 0:
		return "waits for room"
	case s.peer.retired < s.peer.posted:
		return "writes"
	}
	return "rests"
}

// more has all who are not out send so many more messages.
func (f *flock) more(n uint64) {
	for i := range f.goal {
		if !f.out[i] {
			f.goal[i] = f.sent[i] + n
		}
	}
}

// epoch is the receiver's.
func (f *flock) epoch() uint64 {
	if r := receiverOf(f.receivers[0]); r != nil {
		return r.now.number
	}
	return 0
}

// goesOn sees to it that those who are left do.
func (f *flock) goesOn() {
	f.t.Helper()
	const longest = 100 * time.Millisecond
	f.gap, f.last = 0, f.now
	f.until("the others' messages", f.arrived)
	if f.gap > longest && f.kind.Memory == RingShared {
		f.t.Errorf("for %v nothing came of the others, want %v at most", f.gap, longest)
	}
}

// failures are what becomes of senders: how many are out, after which of them the
// next one goes during the change of epochs, and whether they die.
var failures = []struct {
	name string
	dies []bool
	amid bool
}{
	{"killed", []bool{true}, false},
	{"stopped", []bool{false}, false},
	{"two", []bool{true, false}, false},
	{"two, one amid a change", []bool{false, true}, true},
	{"two stopped, one amid a change", []bool{false, false}, true},
}

// TestSharedFailures has senders die, or stop and go on later, at every step of
// what they do for a message: the others go on within 100 ms, and all messages come
// once and in order, but for those of the dead that they had not sent.
func TestSharedFailures(t *testing.T) {
	for _, kind := range Kinds() {
		if !kind.Senders {
			continue
		}
		t.Run(kind.Name, func(t *testing.T) {
			phases := map[string]int{}
			runs, epochs, profiles := 0, uint64(0), profilesFor(kind)
			for seed := range *seeds {
				for steps := seed % 2; steps < 48; steps += 2 {
					steps := int(steps)
					c := failures[(steps/2+int(seed))%len(failures)]
					profile := profiles[(steps/2/len(failures)+int(seed))%len(profiles)]
					senders := 3 + (steps+int(seed))%6
					t.Run(fmt.Sprintf("%s/%s/%d senders/%d steps/seed %d", c.name, profile.Name, senders, steps, seed), func(t *testing.T) {
						f := newFlock(t, kind, profile, seed<<8|uint64(steps), senders)
						defer f.close()
						f.fail(c.dies, c.amid, steps)
						epochs += f.epoch()
						for p, n := range f.phases {
							phases[p] += n
						}
						runs++
					})
				}
			}
			t.Logf("%d runs, %d changes of epochs; who was out %v", runs, epochs, phases)
			want := []string{"adds to the tail", "looks for the ring", "rests", "waits for room", "with a lease", "writes"}
			if kind.Memory != RingShared {
				want = []string{"with a lease", "without a lease"}
			}
			if got := slices.Sorted(maps.Keys(phases)); *seeds >= 4 && !slices.Equal(got, want) {
				t.Errorf("senders were out while they %q, want all of %q", got, want)
			}
		})
	}
}

// profilesFor are those that a kind is not refused on.
func profilesFor(kind *Kind) (list []sim.Profile) {
	for _, p := range sim.Profiles() {
		if caps := p.Caps(); kind.Missing(&caps) == nil {
			list = append(list, p)
		}
	}
	return list
}

func (f *flock) fail(dies []bool, amid bool, steps int) {
	f.more(3)
	f.until("the first messages", f.arrived)
	f.more(20)
	for i, d := range dies {
		if i > 0 && amid && f.kind.Memory == RingShared {
			before := f.epoch()
			f.until("a change of epochs, or all messages", func() bool { return f.epoch() != before || f.arrived() })
			f.more(10)
		}
		f.approach(i, steps, d)
	}
	f.goesOn()
	f.more(5)
	f.goesOn()
	f.comeBack(dies)
	f.more(5)
	f.until("messages after that", f.arrived)
	for i, d := range dies {
		if d && f.next[0][i] < f.done[i] {
			f.t.Errorf("of dead sender %d %d messages came of %d", i, f.next[0][i], f.done[i])
		}
	}
	if fault := f.end(); fault != "" {
		f.t.Fatal(fault)
	}
}

// comeBack has those go on who were stopped: their messages come as well.
func (f *flock) comeBack(dies []bool) {
	f.t.Helper()
	copy(f.out, dies)
	for i, d := range dies {
		f.back[i] = !d
	}
	f.until("the messages of who was stopped", f.arrived)
}

// TestSharedKeeps has one sender after the other stop while it adds to the tail or
// has a lease: a few rings are kept, no more, and who is late for one that was
// freed loses its connection, and nobody else anything.
func TestSharedKeeps(t *testing.T) {
	for _, kind := range sharedRings() {
		t.Run(kind.Name, func(t *testing.T) {
			const senders, stopped = 10, 8
			f := newFlock(t, kind, sim.InOrder(), 0, senders)
			defer f.close()
			f.more(3)
			f.until("the first messages", f.arrived)
			for i := range stopped {
				f.more(10)
				f.until("a lease", func() bool {
					f.act(i)
					return f.leases[i] != nil
				})
				f.out[i] = true
				before := f.epoch()
				f.goesOn()
				if f.epoch() != before+1 {
					t.Errorf("epoch %d after %d, where one more was stopped", f.epoch(), before)
				}
				f.now = f.now.Add(leastClosed)
			}
			r := receiverOf(f.receivers[0])
			if len(r.closed) != maxClosed {
				t.Errorf("%d closed rings are kept, want %d", len(r.closed), maxClosed)
			}
			if most := (maxClosed + 2) * 2 * r.now.ring.mem.Size(); f.receivers[0].registered > most {
				t.Errorf("%d bytes are registered, want %d at most", f.receivers[0].registered, most)
			}
			for i := range stopped {
				late := i < stopped-maxClosed
				must(t, f.leases[i].Commit(f.commit(i)))
				f.leases[i] = nil
				f.sent[i]++
				if f.out[i] = late; late {
					f.lost(i)
				}
			}
			f.until("the messages of who was in time", f.arrived)
			f.more(5)
			f.until("messages after that", f.arrived)
			for range 2 * int(r.end.cfg.Stall/tick) {
				f.turn()
			}
			if len(r.closed) != 0 {
				t.Errorf("%d closed rings are kept of which all is accounted for", len(r.closed))
			}
			if fault := f.end(); fault != "" {
				t.Fatal(fault)
			}
		})
	}
}

// commit makes the message that a lease is for.
func (f *flock) commit(i int) int {
	f.fill(f.leases[i].Bytes()[:f.sizes[i]], i, f.sent[i])
	return f.sizes[i]
}

// lost waits until a sender knows that its connection is.
func (f *flock) lost(i int) {
	f.t.Helper()
	var err error
	for range 10_000 {
		var l Lease
		if l, err = f.senders[i].TryReserve(1); err == nil {
			l.Abort()
		}
		if errors.Is(err, ErrPeerGone) {
			return
		}
		f.net.Step()
	}
	f.t.Errorf("sender %d wrote to a ring that is no more: %v", i, err)
}

// TestSharedRevert changes the epoch at each moment of a FETCH_AND_ADD: a device
// that has loaded the tail before stores it after, and takes the change back.
func TestSharedRevert(t *testing.T) {
	for _, kind := range sharedRings() {
		t.Run(kind.Name, func(t *testing.T) {
			reverts := 0
			for steps := range 40 {
				f := newFlock(t, kind, sim.Profiles()[0], uint64(2*steps), 3)
				f.more(2)
				f.until("the first messages", f.arrived)
				f.more(3)
				for i := range f.senders {
					f.act(i)
				}
				for range steps {
					f.net.Step()
				}
				r := receiverOf(f.receivers[0])
				r.next(f.now)
				for range 8 {
					if epochOf(load(r.tail.b, 0)) != uint16(r.now.number) {
						reverts++
						break
					}
					f.net.Step()
				}
				f.goesOn()
				if fault := f.end(); fault != "" {
					t.Fatal(fault)
				}
				f.close()
			}
			if reverts == 0 {
				t.Error("no device took a change back")
			}
		})
	}
}
