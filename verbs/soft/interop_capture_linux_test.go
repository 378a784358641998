//go:build amd64

package soft_test

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"heddle/packet"
)

// capture looks at all packets of RoCEv2 that pass the interface far.
type capture struct {
	file *os.File
	fd   int
	done chan struct{}

	seen  map[string]int // packets that were right, by the name of the sender
	wrong []string
	kept  map[string]int // frames in the file, by their kind
	pcap  []byte
}

// keepOf is how many frames of each opcode, sender and family are kept.
const keepOf = 5

func newCapture(t *testing.T) *capture {
	t.Helper()
	c := &capture{done: make(chan struct{}), seen: map[string]int{}, kept: map[string]int{}, pcap: pcapHeader()}
	atFar(t, func() {
		const all = unix.ETH_P_ALL<<8 | unix.ETH_P_ALL>>8
		var err error
		c.fd, err = unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)
		must(t, err)
		must(t, unix.SetsockoptInt(c.fd, unix.SOL_SOCKET, unix.SO_RCVBUFFORCE, 64<<20))
		dev, err := net.InterfaceByName("far")
		must(t, err)
		must(t, unix.Bind(c.fd, &unix.SockaddrLinklayer{Protocol: all, Ifindex: dev.Index}))
		c.file = os.NewFile(uintptr(c.fd), "capture")
	})
	go c.run()
	return c
}

// pcapHeader begins a file of Ethernet frames.
func pcapHeader() []byte {
	b := binary.LittleEndian.AppendUint32(nil, 0xa1b2c3d4)
	b = binary.LittleEndian.AppendUint32(b, 2|4<<16)
	b = append(b, make([]byte, 8)...)
	b = binary.LittleEndian.AppendUint32(b, 1<<16)
	return binary.LittleEndian.AppendUint32(b, 1)
}

func (c *capture) run() {
	defer close(c.done)
	b := make([]byte, 1<<16)
	for {
		n, err := c.file.Read(b)
		if err != nil {
			return
		}
		c.frame(b[:n])
	}
}

// frame looks at one.
func (c *capture) frame(b []byte) {
	f, transport, ok := roceFrame(b)
	if !ok {
		return
	}
	name := "soft"
	if slices.Contains(rxeAddresses, f.From) {
		name = "rxe"
	}
	data := transport[:len(transport)-packet.ICRCSize]
	want, err := f.ICRC(data)
	var h packet.Headers
	if err == nil {
		_, err = h.Parse(data)
	}
	if got := binary.LittleEndian.Uint32(transport[len(data):]); err != nil || got != want {
		c.wrong = append(c.wrong, fmt.Sprintf("%s sent %v with ICRC %#08x, want %#08x, error %v", name, h.BTH.Opcode, got, want, err))
		return
	}
	c.seen[name]++
	kind := fmt.Sprint(name, h.BTH.Opcode, f.To.Is4())
	if c.kept[kind]++; c.kept[kind] > keepOf {
		return
	}
	for _, v := range []int{len(c.pcap), 0, len(b), len(b)} {
		c.pcap = binary.LittleEndian.AppendUint32(c.pcap, uint32(v))
	}
	c.pcap = append(c.pcap, b...)
}

// roceFrame takes a frame apart; transport is from the BTH to the ICRC.
func roceFrame(b []byte) (f packet.Flow, transport []byte, ok bool) {
	var link packet.Ethernet
	rest, err := link.Parse(b)
	if err != nil {
		return f, nil, false
	}
	switch link.Type {
	case packet.EtherIPv4:
		var ip packet.IPv4
		rest, err = ip.Parse(rest)
		f.From, f.To, f.ID = ip.From, ip.To, ip.ID
	case packet.EtherIPv6:
		var ip packet.IPv6
		rest, err = ip.Parse(rest)
		f.From, f.To = ip.From, ip.To
	default:
		return f, nil, false
	}
	var udp packet.UDP
	if err == nil {
		rest, err = udp.Parse(rest)
	}
	f.FromPort, f.ToPort = udp.From, udp.To
	return f, rest, err == nil && udp.To == packet.RoCEPort && len(rest) >= packet.BTHSize+packet.ICRCSize
}

// end reads what is left, reports, and prints the file.
func (c *capture) end(t *testing.T) {
	t.Helper()
	must(t, c.file.SetReadDeadline(time.Now()))
	<-c.done
	b := make([]byte, 1<<16)
	for {
		n, err := unix.Read(c.fd, b)
		if err != nil {
			break // there is no more
		}
		c.frame(b[:n])
	}
	stats, err := unix.GetsockoptTpacketStats(c.fd, unix.SOL_PACKET, unix.PACKET_STATISTICS)
	must(t, errors.Join(err, c.file.Close()))
	t.Logf("%d operations; the ICRC of %d packets of soft and of %d of rxe is right", operationsDone.Load(), c.seen["soft"], c.seen["rxe"])
	if stats.Drops > 0 {
		t.Errorf("%d packets were not captured", stats.Drops)
	}
	for _, w := range c.wrong {
		t.Error(w)
	}
	if c.seen["rxe"] < 1000 || c.seen["soft"] < 1000 {
		t.Error("those are too few packets")
	}
	for _, line := range kernelSaid(t) {
		t.Errorf("the kernel says: %s", line)
	}
	c.print(t)
}

// print gives the file to who runs the virtual machine.
func (c *capture) print(t *testing.T) {
	t.Helper()
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	_, err := z.Write(c.pcap)
	must(t, errors.Join(err, z.Close()))
	fmt.Printf("\n%s%s\n", captureMark, base64.StdEncoding.EncodeToString(packed.Bytes()))
}
