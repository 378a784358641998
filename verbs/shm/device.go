//go:build linux && (amd64 || arm64)

package shm

import (
	"crypto/rand"
	"errors"
	"fmt"
	"math"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"heddle/ib"
	"heddle/verbs"
	"heddle/verbs/internal/queue"
)

const deviceName = "shm0"

// Devices lists the one device.
func (Provider) Devices() ([]verbs.Device, error) { return []verbs.Device{device{}}, nil }

type device struct{}

func (device) Name() string { return deviceName }

const (
	maxWR      = 1 << 15
	maxSGE     = 16
	maxInline  = maxPiece // the call copies a request in any case
	keptInline = 256      // bytes that requests which wait have room for from the start
	maxMessage = 1 << 30
	maxPairs   = 1 << 16
	mtu        = 4096
	boardSlots = 1 << 16 // one for each region that queue.Regions has
	boardBytes = boardSlots * 8
	pageBytes  = 4096
)

var limits = verbs.DeviceAttr{
	Firmware: "shared memory", Ports: 1,
	MaxQP: maxPairs, MaxCQ: math.MaxInt32, MaxMR: boardSlots, MaxPD: math.MaxInt32, MaxSRQ: math.MaxInt32, MaxAH: maxPairs,
	MaxQPWR: maxWR, MaxSRQWR: maxWR, MaxCQE: 1 << 20, MaxSGE: maxSGE, MaxInline: maxInline,
	MaxMRSize: 1 << 46, MaxReads: 255, MaxReadsInit: 255,
}

var capabilities = verbs.Caps{
	Ops: [4]verbs.Ops{
		verbs.RC: verbs.OpsOf(verbs.OpSend, verbs.OpSendImm, verbs.OpWrite, verbs.OpWriteImm, verbs.OpRead, verbs.OpFetchAdd, verbs.OpCompareSwap),
		verbs.UC: verbs.OpsOf(verbs.OpSend, verbs.OpSendImm, verbs.OpWrite, verbs.OpWriteImm),
		verbs.UD: verbs.OpsOf(verbs.OpSend, verbs.OpSendImm),
	},
	WriteOrder:      verbs.ByteOrder{Chunk: 1, Last: 8, Origin: verbs.ByConstruction},
	FetchOrder:      verbs.ByteOrder{Chunk: verbs.AllBytes, Origin: verbs.ByConstruction},
	PlacementOrder:  verbs.Promise{Holds: true, Origin: verbs.ByConstruction},
	CompletionOrder: verbs.Promise{Holds: true, Origin: verbs.ByConstruction},
	DeliveryOrder:   verbs.Promise{Holds: true, Origin: verbs.ByConstruction},
	AtomicsWithCPU:  verbs.Promise{Holds: true, Origin: verbs.ByConstruction},
	MaxMessage:      maxMessage, MTU: mtu, MaxInline: maxInline, MaxSGE: maxSGE,
	SRQ: true, PeerGone: true,
}

// opened is the device, opened: a socket that peers come to, and what all of
// them share with it.
type opened struct {
	name     [16]byte
	listener *net.UnixListener
	bell     bell  // what its waits sleep on
	board    board // which of its regions are valid
	regions  queue.Regions
	events   events
	pump     pump
	lastPD   atomic.Uint32
	senders  atomic.Int32 // peers that send datagrams
	closed   atomic.Bool
	nap      time.Duration // tests have long ones
	tasks    sync.WaitGroup
	waits    sync.WaitGroup // what uses the bell and may outlive all objects

	mu       sync.Mutex
	pairs    map[ib.QPN]*pair // guarded by mu, as all below
	guests   []*net.UnixConn  // that have not said who they are, the oldest first
	lastQPN  ib.QPN
	children int
}

// Open makes a context.
func (device) Open() (verbs.Context, error) {
	o := &opened{pairs: map[ib.QPN]*pair{}, lastQPN: 1, nap: nap}
	o.events.some = make(chan struct{}, 1)
	o.pump = pump{wanted: make(chan struct{}, 1), stop: make(chan struct{})}
	rand.Read(o.name[:])
	if err := o.share(); err != nil {
		return nil, errors.Join(&verbs.OpError{Verb: "open", Device: deviceName, Err: err}, o.release())
	}
	o.tasks.Go(o.accept)
	o.tasks.Go(o.run)
	return o, nil
}

func (o *opened) share() (err error) {
	if err = o.bell.make(); err != nil {
		return err
	}
	if err = o.board.make(); err != nil {
		return err
	}
	self := endpoint{Name: o.name}
	o.listener, err = net.ListenUnix("unixpacket", self.socket())
	return err
}

func (o *opened) release() (err error) {
	if o.listener != nil {
		err = o.listener.Close()
	}
	o.mu.Lock()
	for _, conn := range o.guests {
		err = errors.Join(err, conn.Close())
	}
	o.mu.Unlock()
	close(o.pump.stop)
	o.tasks.Wait()
	return errors.Join(err, o.bell.close(), o.board.close())
}

func (o *opened) Name() string           { return deviceName }
func (o *opened) Attr() verbs.DeviceAttr { return limits }
func (o *opened) Caps() verbs.Caps       { return capabilities }

func (o *opened) Port(number uint8) (verbs.PortAttr, error) {
	if number != 1 {
		return verbs.PortAttr{}, &verbs.OpError{Verb: fmt.Sprintf("port %d", number), Device: deviceName, Err: verbs.ErrNotFound}
	}
	return verbs.PortAttr{
		State: verbs.PortActive, LinkLayer: verbs.LinkMemory, MaxMTU: ib.MTU4096, ActiveMTU: ib.MTU4096, MaxMessage: maxMessage,
	}, nil
}

func (o *opened) GID(port uint8, index int) (verbs.GIDEntry, error) {
	return verbs.GIDEntry{}, &verbs.OpError{
		Verb: fmt.Sprintf("GID %d of port %d", index, port), Device: deviceName,
		Err: fmt.Errorf("memory has no GIDs: %w", verbs.ErrNotFound),
	}
}

// noGID refuses what names a GID: the port has none.
func noGID(verb string, gid ib.GID) error {
	return &verbs.OpError{
		Verb: verb, Device: deviceName,
		Err: fmt.Errorf("GID %v, memory has no GIDs: %w", gid, verbs.ErrNotFound),
	}
}

func (o *opened) AllocPD() (verbs.PD, error) {
	if err := o.adopt(); err != nil {
		return nil, err
	}
	return &domain{host: o, number: o.lastPD.Add(1)}, nil
}

func (o *opened) CreateCQ(a verbs.CQAttr) (verbs.CQ, error) {
	c := &completions{host: o}
	q, err := queue.NewCQ(a, limits.MaxCQE, c.overrun)
	if err != nil {
		return nil, err
	}
	if err := o.adopt(); err != nil {
		return nil, err
	}
	c.CQ = q
	return c, nil
}

// adopt counts an object that is made of the context.
func (o *opened) adopt() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.closed.Load() {
		return &verbs.OpError{Verb: "use of a context", Device: deviceName, Err: verbs.ErrClosed}
	}
	o.children++
	return nil
}

func (o *opened) disown() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.children--
}

func (o *opened) Close() error {
	o.mu.Lock()
	if o.closed.Load() {
		o.mu.Unlock()
		return nil
	}
	if o.children > 0 {
		o.mu.Unlock()
		return &verbs.OpError{Verb: fmt.Sprintf("close: %d PDs and CQs are open", o.children), Device: deviceName, Err: verbs.ErrBusy}
	}
	o.closed.Store(true)
	o.mu.Unlock()
	o.events.close()
	o.bell.ring()
	o.waits.Wait()
	return o.release()
}
