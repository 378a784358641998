package election

import (
	"container/heap"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"heddle/ib"
	"heddle/mad"
)

// network is a tiny subnet of managers in virtual time, that can lose, delay
// and be cut.
type network struct {
	start, now time.Time
	events     events
	seq        int
	random     *rand.Rand
	loss       float64               // of each datagram
	delay      time.Duration         // of each datagram
	takes      time.Duration         // a sweep
	every      time.Duration         // how often a master sweeps
	drop       map[mad.SMControl]int // so many of these requests are lost
	forget     int                   // so many answers to a Tell are lost
	managers   []*manager            // by GUID
	told       func(*manager, Action)
}

// manager is a machine and what a shell does for it.
type manager struct {
	*Machine
	net    *network
	name   string
	cfg    Config
	island int
	up     bool
	mute   bool // answers nothing
	hung   bool // answers for what it is, and does nothing else
	deaf   bool // answers for what it is whatever it is told
	sweep  int  // the number of the sweep that counts
	asked  int
}

const (
	tries     = 4
	tryFor    = 200 * time.Millisecond
	trapDelay = 50 * time.Millisecond
)

type event struct {
	at  time.Time
	seq int
	do  func()
}

type events []event

func (e events) Len() int { return len(e) }
func (e events) Less(i, j int) bool {
	return e[i].at.Before(e[j].at) || e[i].at.Equal(e[j].at) && e[i].seq < e[j].seq
}
func (e events) Swap(i, j int) { e[i], e[j] = e[j], e[i] }
func (e *events) Push(x any)   { *e = append(*e, x.(event)) }
func (e *events) Pop() any {
	x := (*e)[len(*e)-1]
	*e = (*e)[:len(*e)-1]
	return x
}

func newNetwork(seed uint64) *network {
	start := time.Unix(1_000_000, 0)
	return &network{
		start: start, now: start, random: rand.New(rand.NewPCG(seed, seed)),
		delay: time.Millisecond, takes: 100 * time.Millisecond, every: 10 * time.Second,
		drop: map[mad.SMControl]int{}, told: func(*manager, Action) {},
	}
}

func (n *network) add(name string, cfg Config) {
	cfg.GUID = ib.GUID(len(n.managers) + 1)
	n.managers = append(n.managers, &manager{Machine: New(cfg), net: n, name: name, cfg: cfg})
}

func (n *network) find(name string) *manager {
	i := slices.IndexFunc(n.managers, func(m *manager) bool { return m.name == name })
	return n.managers[i]
}

func (n *network) after(d time.Duration, do func()) {
	n.seq++
	heap.Push(&n.events, event{n.now.Add(d), n.seq, do})
}

// run lets time pass.
func (n *network) run(d time.Duration) {
	end := n.now.Add(d)
	for {
		next := end
		for _, m := range n.managers {
			if at, ok := m.due(); ok && at.Before(next) {
				next = at
			}
		}
		if len(n.events) > 0 && !n.events[0].at.After(next) {
			e := heap.Pop(&n.events).(event)
			n.now = e.at
			e.do()
			continue
		}
		n.now = next
		if next.Equal(end) {
			return
		}
		for _, m := range n.managers {
			if at, ok := m.due(); ok && !at.After(n.now) {
				m.Advance(n.now)
				m.act()
			}
		}
	}
}

func (m *manager) due() (time.Time, bool) {
	if !m.up || m.hung {
		return time.Time{}, false
	}
	return m.NextDeadline()
}

// begin starts a manager anew, with nothing remembered.
func (m *manager) begin() {
	m.Machine, m.up, m.mute, m.hung, m.deaf = New(m.cfg), true, false, false, false
	m.Start(m.net.now)
	m.act()
	m.net.trap(m.island)
}

func (m *manager) kill() {
	m.up = false
	m.sweep++
}

// place puts managers on an island; all others are on another.
func (n *network) place(island int, managers ...*manager) {
	for _, m := range managers {
		m.island = island
	}
	for i := range len(n.managers) + 1 {
		n.trap(i)
	}
}

// trap has the masters of an island sweep, if they hear it.
func (n *network) trap(island int) {
	for _, m := range n.managers {
		if m.island == island && m.leads() && !n.loses() {
			n.after(trapDelay, func() {
				if m.leads() {
					m.look()
				}
			})
		}
	}
}

func (m *manager) leads() bool { return m.up && !m.hung && m.State() == mad.SMMaster }

func (n *network) loses() bool { return n.random.Float64() < n.loss }

func (m *manager) reaches(to *manager) bool { return m.up && to.up && m.island == to.island }

// path is the directed route to a manager.
func (m *manager) path() []uint8 { return []uint8{1, uint8(m.cfg.GUID)} }

// act does what the machine says.
func (m *manager) act() {
	for _, a := range m.Take() {
		m.net.told(m, a)
		switch a.Kind {
		case Discover, Resweep, Lead:
			m.look()
		case Follow, Leave:
			m.sweep++
		case Ask, Tell:
			m.asked++
			m.try(a, 1)
		case Announce:
			if to := m.net.at(a.Peer.Port); m.reaches(to) && to.leads() && !m.net.loses() {
				to.look()
			}
		case Note:
		}
	}
}

func (n *network) at(port ib.GUID) *manager { return n.managers[port-1] }

// look sweeps. A sweep that began before is forgotten.
func (m *manager) look() {
	m.sweep++
	number := m.sweep
	m.net.after(m.net.takes, func() {
		if !m.up || m.hung || m.sweep != number {
			return
		}
		m.Active()
		m.Swept(m.net.now, m.found())
		if m.State() == mad.SMMaster {
			m.Programmed(m.net.now)
			m.net.after(m.net.every, func() {
				if m.leads() && m.sweep == number {
					m.look()
				}
			})
		}
		m.act()
	})
}

func (m *manager) found() []Peer {
	var list []Peer
	for _, other := range m.net.managers {
		lost := 0
		for lost < tries && m.net.loses() { // the request, or the answer
			lost++
		}
		if other == m || !m.reaches(other) || other.mute || lost == tries {
			continue
		}
		_, info := other.Request(m.net.now, Request{})
		list = append(list, Peer{Port: other.cfg.GUID, Info: info, Path: other.path()})
	}
	return list
}

// try sends a request, and once more where it was not answered in time.
func (m *manager) try(a Action, count int) {
	n, to, answered := m.net, m.net.at(a.Peer.Port), false
	machine := m.Machine
	n.after(n.delay, func() {
		if !m.reaches(to) || to.mute || n.loses() || n.dropped(a) {
			return
		}
		status, info := to.take(a, m.path())
		if a.Kind == Tell && n.forget > 0 {
			n.forget--
			return
		}
		n.after(n.delay, func() {
			if n.loses() || !m.reaches(to) || m.hung || m.Machine != machine {
				return
			}
			answered = true
			m.Answered(n.now, a.ID, status, info)
			m.act()
		})
	})
	n.after(tryFor, func() {
		switch {
		case answered || !m.up || m.hung || m.Machine != machine:
		case count < tries:
			m.try(a, count+1)
		default:
			m.Unanswered(n.now, a.ID)
			m.act()
		}
	})
}

func (n *network) dropped(a Action) bool {
	if a.Kind != Tell || n.drop[a.Control] == 0 {
		return false
	}
	n.drop[a.Control]--
	return true
}

// take gives a request to a machine.
func (m *manager) take(a Action, back []uint8) (mad.Status, mad.SMInfo) {
	r := Request{Set: a.Kind == Tell, Control: a.Control, Info: a.Info, Path: back}
	if m.hung || m.deaf {
		r = Request{}
	}
	status, info := m.Request(m.net.now, r)
	m.act()
	return status, info
}

// masters are the managers of an island that say that they are master.
func (n *network) masters(island int) []*manager {
	var list []*manager
	for _, m := range n.managers {
		if m.island == island && m.leads() {
			list = append(list, m)
		}
	}
	return list
}

func (n *network) named(text string) string {
	for _, m := range n.managers {
		text = strings.ReplaceAll(text, "subnet manager "+m.cfg.GUID.String(), m.name)
	}
	return text
}

func (n *network) clock() string { return fmt.Sprintf("%.3f", n.now.Sub(n.start).Seconds()) }
