package bench

import (
	"encoding/binary"
	"math/rand/v2"
	"slices"
	"time"

	"heddle/emu"
	"heddle/ib"
	"heddle/packet"
)

// Hardware is what is modelled of adapters, links and switches.
type Hardware struct {
	// Wire is what the emulated subnet is told.
	Wire emu.Wire
	// Rate is that of all links.
	Rate ib.LinkRate
	// Post is the time from a program's call until its adapter fetches the
	// message, Take from when a message is in memory until a program has it.
	Post, Take time.Duration
	// Noise is the mean of what each of them takes longer, exponentially
	// distributed.
	Noise time.Duration
	// Gap is the time from when the last member has a message until the group's
	// next one begins.
	Gap time.Duration
	// Window is how many messages of a group are under way at once; zero means 1.
	Window int
	// BusGBs is how fast a message goes between memory and adapter, in gigabytes
	// per second. An adapter sends nothing of a message before it has all of it,
	// and a program sees it when all of it is in memory.
	BusGBs float64
}

// EDR is hardware of the years of the FULB-MC paper, which does not tell what
// it was measured on: 4xEDR links, for which makers of switches tell 90 ns from
// port to port, and 16 lanes of PCI Express 3.0, of whose 15.8 GB/s 12.5 are
// left for the data of packets. A cable of 5 m takes 25 ns. Post and Take are what a
// one-way message of 8 bytes between two programs over one switch takes, 1.2 us,
// less the rest.
func EDR() Hardware {
	return Hardware{
		Wire: emu.Wire{Cable: 25 * time.Nanosecond, Switch: 90 * time.Nanosecond, Buffer: 16 << 10},
		Rate: ib.LinkRate{Width: ib.Width4x, Speed: ib.EDR},
		Post: 450 * time.Nanosecond, Take: 450 * time.Nanosecond, Noise: 50 * time.Nanosecond, BusGBs: 12.5,
	}
}

// bus is how long a message is on its way between memory and adapter.
func (h *Hardware) bus(size int) time.Duration {
	return time.Duration(float64(size) / h.BusGBs)
}

// groupLoad is groups that send messages at the same time, the next when all
// members have the last one.
type groupLoad struct {
	*fabricOf
	hardware Hardware
	random   *rand.Rand
	size     int
	groups   int
	flows    []*sendingGroup
	busy     int // flows of which not all is measured yet
	times    []time.Duration
	done     int           // messages since started
	started  time.Duration // of the first that is measured
	ended    time.Duration
}

// sendingGroup is messages of one group, one after the other.
type sendingGroup struct {
	load    *groupLoad
	members []int // stations
	member  []uint64
	rotate  bool // senders take turns
	turn    int
	packet  []byte
	posted  time.Duration
	left    int // members that do not have the message yet
	skip    int // messages that are not measured
	want    int // messages that are
}

// newLoad puts a load on a subnet whose tables are written. All members of a
// group are to get its messages, from the first one of them or, with rotate,
// from each in turn.
func newLoad(f *fabricOf, h Hardware, size int, groups [][]int, mlids []ib.MLID, rotate bool, seed uint64) *groupLoad {
	l := &groupLoad{fabricOf: f, hardware: h, random: rand.New(rand.NewPCG(seed, 0x6c6f6164)), size: size}
	f.receive = l.receive
	for i, members := range groups {
		if len(members) > 1 {
			l.groups++
			l.add(members, mlids[i], rotate)
		}
	}
	return l
}

// add adds a group, with as many messages at once as Window says, the senders of
// which are spread over the group if they take turns.
func (l *groupLoad) add(members []int, mlid ib.MLID, rotate bool) {
	set := make([]uint64, (len(l.ends)+63)/64)
	for _, m := range members {
		set[m/64] |= 1 << (m % 64)
	}
	window := max(l.hardware.Window, 1)
	for k := range window {
		f := &sendingGroup{load: l, members: members, member: set, rotate: rotate}
		if rotate {
			f.turn = k * len(members) / window
		}
		f.packet = appendMessage(nil, mlid, l.size, len(l.flows))
		l.flows = append(l.flows, f)
	}
}

// appendMessage is a UD multicast packet with the number of a flow in it.
func appendMessage(b []byte, to ib.MLID, size, number int) []byte {
	const deth, icrc = 8, 4
	payload := (size + 3) &^ 3
	behind := packet.BTHSize + deth + payload + icrc
	lrh := packet.LRH{Next: packet.NextGRH, DLID: uint16(to), Words: uint16((packet.LRHSize + packet.GRHSize + behind) / 4)}
	b = lrh.AppendTo(b)
	b = (&packet.GRH{Length: uint16(behind)}).AppendTo(b)
	b = (&packet.BTH{Opcode: packet.UD | packet.SendOnly, PKey: ib.DefaultPKey, QPN: ib.MulticastQPN}).AppendTo(b)
	b = append(b, make([]byte, deth)...)
	b = binary.BigEndian.AppendUint32(b, uint32(number))
	return append(b, make([]byte, payload-4+icrc)...)
}

// flowNumber is the number in a message.
func flowNumber(b []byte) int {
	return int(binary.BigEndian.Uint32(b[packet.LRHSize+packet.GRHSize+packet.BTHSize+8:]))
}

// warmUp is how many messages of each group are not measured.
const warmUp = 5

// run measures so many messages, or some more, so that there are as many of each
// group: those that are fast must not count for more. Who is done goes on sending
// until all are. false means that the network came to a standstill.
func (l *groupLoad) run(messages int) bool {
	each := (messages + len(l.flows) - 1) / len(l.flows)
	l.busy = len(l.flows)
	l.times = make([]time.Duration, 0, each*len(l.flows))
	for _, f := range l.flows {
		f.skip, f.want = warmUp, each
		l.subnet.After(time.Duration(l.random.Int64N(2000)), f.post)
	}
	for l.busy > 0 {
		at, ok := l.subnet.Next()
		if !ok {
			return false
		}
		l.subnet.Advance(at)
	}
	l.ended = l.subnet.Now()
	slices.Sort(l.times)
	return true
}

// noise is how much longer something takes this time.
func (l *groupLoad) noise() time.Duration {
	return time.Duration(l.random.ExpFloat64() * float64(l.hardware.Noise))
}

// post sends the group's next message.
func (f *sendingGroup) post() {
	l := f.load
	f.posted, f.left = l.subnet.Now(), len(f.members)-1
	sender := f.members[f.turn]
	if f.rotate {
		f.turn = (f.turn + 1) % len(f.members)
	}
	l.subnet.After(l.hardware.Post+l.hardware.bus(l.size)+l.noise(), func() { l.send(sender, f.packet) })
}

// receive is a packet's coming to an adapter, which passes over those of groups
// that it is no member of.
func (l *groupLoad) receive(station int, b []byte) {
	f := l.flows[flowNumber(b)]
	if f.member[station/64]>>(station%64)&1 != 0 {
		l.subnet.After(l.hardware.Take+l.hardware.bus(l.size)+l.noise(), f.taken)
	}
}

// taken is one member's having a message; the last one's lets the next message
// begin.
func (f *sendingGroup) taken() {
	if f.left--; f.left > 0 {
		return
	}
	l := f.load
	l.done++
	if f.skip > 0 {
		f.skip--
		if len(l.times) == 0 {
			l.started, l.done = l.subnet.Now(), 0
		}
	} else if f.want > 0 {
		l.times = append(l.times, l.subnet.Now()-f.posted)
		if f.want--; f.want == 0 {
			l.busy--
		}
	}
	if l.hardware.Gap > 0 {
		l.subnet.After(l.hardware.Gap, f.post)
		return
	}
	f.post()
}

// Latency is how long messages took, from the call of the sender until the last
// member has them.
type Latency struct {
	Experiment string `json:"experiment"`
	Fabric     string `json:"fabric"`
	Pattern    string `json:"pattern,omitempty"`
	Case       string `json:"case"`
	Size       int    `json:"size"`   // bytes
	Groups     int    `json:"groups"` // at the same time
	Window     int    `json:"window"` // messages of a group at once
	Messages   int    `json:"messages"`
	// MaxEFI is of the links between switches.
	MaxEFI int `json:"maxEFI"`
	// In microseconds. P99 is the one that 99 % are not over.
	Mean   float64 `json:"meanUs"`
	Median float64 `json:"medianUs"`
	P99    float64 `json:"p99Us"`
	Max    float64 `json:"maxUs"`
	// Ratio and RatioP99 are Mean and P99 by those of the experiment's first case
	// of the same size; Paper, where it is known, is that of the means in the
	// paper.
	Ratio    float64 `json:"ratio"`
	RatioP99 float64 `json:"ratioP99"`
	Paper    float64 `json:"paper,omitempty"`
	// Rate is messages a second of all groups together, in millions.
	Rate float64 `json:"rateM"`
	// Busiest is the share of time that the busiest link between switches sends.
	Busiest float64 `json:"busiest"`
	// Deadlock tells that buffers wait for each other, and nothing else counts.
	Deadlock bool `json:"deadlock,omitempty"`

	times []time.Duration
}

// measure fills in what a load measured.
func (l *groupLoad) measure(to Latency) Latency {
	to.Size, to.Groups, to.Messages, to.times = l.size, l.groups, len(l.times), l.times
	to.Window = max(l.hardware.Window, 1)
	us := func(d time.Duration) float64 { return float64(d) / 1e3 }
	var sum time.Duration
	for _, d := range l.times {
		sum += d
	}
	n := len(l.times)
	to.Mean = us(sum) / float64(n)
	to.Median, to.P99, to.Max = us(l.times[n/2]), us(l.times[max(n*99/100, 1)-1]), us(l.times[n-1])
	took := max(l.ended-l.started, 1)
	to.Rate = float64(l.done) / us(took)
	to.Busiest = l.busiest()
	return to
}

// compareLatencies sets the ratios to the first case of the same size.
func compareLatencies(list []Latency) {
	for i := range list {
		first := &list[slices.IndexFunc(list, func(x Latency) bool {
			return x.Size == list[i].Size && x.Fabric == list[i].Fabric && x.Pattern == list[i].Pattern
		})]
		if !list[i].Deadlock && !first.Deadlock {
			list[i].Ratio, list[i].RatioP99 = list[i].Mean/first.Mean, list[i].P99/first.P99
		}
	}
}
