//go:build linux && (amd64 || arm64)

package ibv

import (
	"context"
	"encoding/binary"
	"errors"
	"math"
	"runtime"
	"time"
	"unsafe"

	"heddle/ib"
	"heddle/verbs"
)

// deviceContext is an opened device.
type deviceContext struct {
	lib    *library
	name   string
	c      *ibvContext
	life   life
	attr   verbs.DeviceAttr
	caps   verbs.Caps
	events *eventQueue
	kernel bool // posts and polls enter the kernel
	iwarp  bool
	done   chan struct{} // closed by Close
}

var _ verbs.Context = (*deviceContext)(nil)

// newContext asks an opened device what it is. It closes it where that fails.
func newContext(d *device, at *ibvDevice, opened *ibvContext) (_ *deviceContext, err error) {
	c := &deviceContext{
		lib: d.lib, name: d.name, c: opened, done: make(chan struct{}),
		iwarp: at.Transport == transportIWARP,
	}
	defer func() {
		if err != nil {
			err = c.failed("open", errors.Join(err, failure(invoke(c.lib, c.lib.closeDevice, ptr(opened)))))
		}
	}()
	code, err := readMappings()
	if err != nil {
		return nil, err
	}
	if err := opened.check(at, code); err != nil {
		return nil, err
	}
	file, _ := code.find(opened.Ops.PostSend)
	c.kernel = entersKernel(file)
	if err := c.probe(at.Transport); err != nil {
		return nil, err
	}
	c.events, err = newEventQueue(c)
	return c, err
}

// failed is the error of a call.
func (c *deviceContext) failed(verb string, err error) error {
	if err == nil {
		return nil
	}
	if _, ok := errors.AsType[*verbs.OpError](err); ok {
		return err
	}
	return &verbs.OpError{Verb: verb, Device: c.name, Err: sentinel(err)}
}

func (c *deviceContext) Name() string           { return c.name }
func (c *deviceContext) Attr() verbs.DeviceAttr { return c.attr }
func (c *deviceContext) Caps() verbs.Caps       { return c.caps }

// queryDevice asks for the limits.
func (c *deviceContext) queryDevice() (*ibvDeviceAttr, error) {
	a := new(struct {
		ibvDeviceAttr
		_ [256]byte // should it grow
	})
	if err := failure(invoke(c.lib, c.lib.queryDevice, ptr(c.c), uintptr(unsafe.Pointer(a)))); err != nil {
		return nil, c.failed("query device", err)
	}
	firmware, ok := cString(a.Firmware[:])
	if err := consistent(ok && a.Ports > 0 && a.MaxQP > 0 && a.MaxSGE > 0, "ibv_device_attr"); err != nil {
		return nil, err
	}
	c.attr = verbs.DeviceAttr{
		NodeGUID: ib.GUID(binary.BigEndian.Uint64(a.NodeGUID[:])),
		VendorID: a.VendorID, PartID: a.PartID, Firmware: firmware, Ports: a.Ports,
		MaxQP: int(a.MaxQP), MaxCQ: int(a.MaxCQ), MaxMR: int(a.MaxMR), MaxPD: int(a.MaxPD),
		MaxSRQ: int(a.MaxSRQ), MaxAH: int(a.MaxAH),
		MaxQPWR: int(a.MaxQPWR), MaxSRQWR: int(a.MaxSRQWR), MaxCQE: int(a.MaxCQE), MaxSGE: int(a.MaxSGE),
		MaxMRSize: a.MaxMRSize, MaxReads: int(a.MaxReads), MaxReadsInit: int(a.MaxReadsInit),
		MaxMW: int(a.MaxMW), MaxDM: c.queryDM(),
	}
	return &a.ibvDeviceAttr, nil
}

// queryDM asks how much memory the device has of its own: nothing where there is
// nobody to ask.
func (c *deviceContext) queryDM() int {
	query, a := c.c.extended(beforeQueryDeviceEx), new(ibvDeviceAttrEx)
	if query == 0 || c.c.extended(beforeAllocDM) == 0 || c.c.extended(beforeRegDM) == 0 || c.c.extended(beforeFreeDM) == 0 {
		return 0
	}
	if failure(invoke(c.lib, query, ptr(c.c), 0, uintptr(unsafe.Pointer(a)), unsafe.Sizeof(*a))) != nil {
		return 0
	}
	return int(min(a.MaxDM, math.MaxInt32))
}

// AllocPD makes a protection domain.
func (c *deviceContext) AllocPD() (verbs.PD, error) {
	p := &pd{ctx: c}
	err := c.life.adopt(func() (err error) {
		p.c, err = c.allocPD()
		return err
	})
	if err != nil {
		return nil, c.failed("allocate PD", err)
	}
	return p, nil
}

func (c *deviceContext) allocPD() (*ibvPD, error) {
	p, err := object[ibvPD](invoke(c.lib, c.lib.allocPD, ptr(c.c)))
	if err != nil {
		return nil, err
	}
	return p, consistent(p.Context == c.c, "ibv_pd")
}

// Await calls ready again and again, with growing pauses: nothing tells when a
// device writes into memory.
func (c *deviceContext) Await(ctx context.Context, ready func() bool) error {
	const spins, yields = 1 << 12, 1 << 8
	pause := time.NewTimer(0)
	defer pause.Stop()
	for i := 0; !ready(); i++ {
		switch {
		case i < spins:
			continue
		case i < spins+yields:
			runtime.Gosched()
			continue
		}
		// From 20 to about 500 µs.
		pause.Reset(20 * time.Microsecond << min(5, (i-spins-yields)/64))
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-c.done:
			return verbs.ErrClosed
		case <-pause.C:
		}
	}
	return nil
}

// Event waits for the next asynchronous event. After the device is gone the
// error wraps verbs.ErrNoDevice.
func (c *deviceContext) Event(ctx context.Context) (verbs.Event, error) {
	return c.events.next(ctx)
}

// Close gives the device back.
func (c *deviceContext) Close() error {
	done, err := c.life.end()
	if !done {
		return c.failed("close", err)
	}
	close(c.done)
	err = c.events.close()
	return c.failed("close", errors.Join(err, failure(invoke(c.lib, c.lib.closeDevice, ptr(c.c)))))
}
