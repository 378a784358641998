package mad

import (
	"errors"
	"net"
	"strings"
	"sync"
	"testing"

	"heddle/internal/testenv"
)

// standIn answers Debian's infiniband-diags, attached by libumad2sim.so, as
// ibsim would, with what the test gives it: so the programs show what they read
// in our bytes, also of attributes that ibsim does not have. The protocol is
// that of package ibsim, which this package may not import.
type standIn struct {
	name    string
	answers map[sampleKey][]byte
	ctl     *net.UnixConn
	data    *net.UnixConn
	done    sync.WaitGroup
}

type sampleKey struct {
	class Class
	attr  AttrID
}

// newStandIn serves until the end of the test.
func newStandIn(t *testing.T, answers []sample) *standIn {
	t.Helper()
	s := &standIn{name: testenv.SocketName(t), answers: map[sampleKey][]byte{}}
	for _, a := range answers {
		s.answers[sampleKey{a.class, a.attr}] = a.bytes()
	}
	s.ctl, s.data = s.listen(t, "ctl"), s.listen(t, "out0")
	s.done.Go(func() { serve(s.ctl, s.control) })
	s.done.Go(func() { serve(s.data, s.answer) })
	t.Cleanup(func() { s.close(t) })
	return s
}

// listen binds a name that ends with a zero byte.
func (s *standIn) listen(t *testing.T, suffix string) *net.UnixConn {
	t.Helper()
	c, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: "@" + s.name + ":" + suffix + "\x00", Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func (s *standIn) close(t *testing.T) {
	for _, c := range []*net.UnixConn{s.ctl, s.data} {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	}
	s.done.Wait()
}

// serve answers each packet in place until the socket is closed.
func serve(c *net.UnixConn, answer func(b []byte)) {
	var buf [512]byte
	for {
		n, from, err := c.ReadFromUnix(buf[:])
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil {
			continue
		}
		answer(buf[:n])
		from.Name = strings.TrimSuffix(from.Name, "\x00") + "\x00"
		if _, err := c.WriteToUnix(buf[:n], from); err != nil {
			continue // a program that has ended
		}
	}
}

// control answers a control message: 80 bytes, those of the answer from byte
// 16 on.
func (s *standIn) control(b []byte) {
	const (
		connect  = 1
		getInfo  = 7
		getPort  = 8
		getPKeys = 10
	)
	if len(b) != 80 {
		return
	}
	part := b[16:]
	switch b[8] {
	case connect:
		clear(part[:4])
	case getInfo:
		clear(part)
		NodeInfo{BaseVersion: 1, ClassVersion: 1, NodeType: NodeCA, NumPorts: 1, NodeGUID: 0x100, LocalPortNum: 1}.AppendTo(part[:0])
	case getPort:
		clear(part)
		PortInfo{LID: 1, MasterSMLID: 1, PortState: PortActive, PortPhysicalState: PhysLinkUp}.AppendTo(part[:0])
	case getPKeys:
		part[0], part[1] = 0xFF, 0xFF
	default:
		clear(part)
	}
}

// answer makes the answer of a datagram, or has it come back as timed out.
func (s *standIn) answer(b []byte) {
	const header, status = 32, 16
	if len(b) != header+Size {
		return
	}
	d := (*Datagram)(b[header:])
	class := d.Class()
	if class == ClassDirected {
		class = ClassLID
	}
	value, ok := s.answers[sampleKey{class, d.Attr()}]
	if !ok {
		be.PutUint32(b[status:], 110)
		return
	}
	copy(b[0:8], append(append([]byte(nil), b[4:8]...), b[0:4]...))
	if m, ok := d.Method().Response(); ok {
		d.SetMethod(m)
	}
	clear(d.Data())
	copy(d.Data(), value)
	if class == ClassSA {
		d.SetAttributeOffset(uint16((len(value) + 7) / 8))
	}
}
