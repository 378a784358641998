package soft_test

import (
	"testing"
	"time"

	"heddle/ib"
	"heddle/verbs"
	"heddle/verbs/soft"
	"heddle/verbs/verbstest"
)

// subnet joins two ports, and leads what goes to a port itself, and to groups, as
// a switch does that has learnt of all.
type subnet struct{ ports [2]*port }

// port is a port whose packets are carried by a goroutine of its own.
type port struct {
	net   *subnet
	lid   ib.LID
	queue chan []byte
	free  chan []byte // of what was received
	ended chan struct{}
}

func newSubnet() *subnet {
	n := &subnet{}
	for i := range n.ports {
		n.ports[i] = &port{net: n, lid: ib.LID(i + 1), queue: make(chan []byte, 4096), free: make(chan []byte, 4096)}
	}
	return n
}

func (p *port) GUID() ib.GUID { return ib.GUID(p.lid) }
func (p *port) Address() (ib.LID, uint8, ib.LID, uint64, bool) {
	return p.lid, 0, 1, ib.DefaultPrefix, true
}
func (p *port) MTU() ib.MTU       { return ib.MTU2048 }
func (p *port) Rate() ib.LinkRate { return ib.LinkRate{} }
func (p *port) PKeys() []ib.PKey  { return []ib.PKey{ib.DefaultPKey} }

func (p *port) Transmit(packets [][]byte) {
	for _, b := range packets {
		to := uint16(b[2])<<8 | uint16(b[3])
		for _, q := range p.net.ports {
			if uint16(q.lid) == to || ib.MLID(to).IsValid() && q != p {
				var c []byte
				select {
				case c = <-q.free:
				default:
				}
				select {
				case q.queue <- append(c[:0], b...):
				default:
				}
			}
		}
	}
}

func (p *port) Receive(f func([][]byte)) {
	if f == nil {
		p.queue <- nil
		<-p.ended
		return
	}
	p.ended = make(chan struct{})
	go func() {
		defer close(p.ended)
		one := make([][]byte, 1)
		for one[0] = range p.queue {
			if one[0] == nil {
				return
			}
			f(one)
			select {
			case p.free <- one[0]:
			default:
			}
		}
	}()
}

// TestConformancePort runs the suite on ports of an InfiniBand subnet, on whole
// packets with LRH and GRH.
func TestConformancePort(t *testing.T) {
	verbstest.Run(t, verbstest.Suite{
		MaxSize: 64 << 10, Moment: 10 * time.Millisecond, GroupLID: ib.FirstMLID,
		Open: func(tb testing.TB) (near, far verbs.Context) {
			n := newSubnet()
			return open(tb, soft.OnPort("near", n.ports[0])), open(tb, soft.OnPort("far", n.ports[1]))
		},
	})
}
