//go:build linux && (amd64 || arm64)

package shm

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"sync"
	"sync/atomic"

	"heddle/ib"
	"heddle/verbs"
	"heddle/verbs/internal/queue"
)

// domain is a verbs.PD.
type domain struct {
	host     *opened
	number   uint32
	closed   atomic.Bool
	children atomic.Int32
}

// adopt counts an object that is made of the domain.
func (d *domain) adopt() error {
	d.children.Add(1)
	if d.closed.Load() {
		d.children.Add(-1)
		return &verbs.OpError{Verb: "use of a PD", Device: deviceName, Err: verbs.ErrClosed}
	}
	return nil
}

func (d *domain) disown() { d.children.Add(-1) }

func (d *domain) Close() error {
	if d.closed.Load() {
		return nil
	}
	if n := d.children.Load(); n > 0 {
		return &verbs.OpError{Verb: fmt.Sprintf("close PD: %d objects are open", n), Device: deviceName, Err: verbs.ErrBusy}
	}
	if d.closed.CompareAndSwap(false, true) {
		d.host.disown()
	}
	return nil
}

// CreateAH says how there is one.
func (d *domain) CreateAH(a verbs.AHAttr) (verbs.AH, error) {
	if gid := cmp.Or(a.Source, a.GID); gid != (ib.GID{}) {
		return nil, noGID("create AH", gid)
	}
	return nil, &verbs.OpError{
		Verb: "create AH", Device: deviceName,
		Err: fmt.Errorf("memory has no LIDs and GIDs, ResolveAH takes an endpoint: %w", verbs.ErrNotSupported),
	}
}

// region is a verbs.MR.
type region struct {
	*queue.Region
	domain *domain
	once   sync.Once
}

const remote = verbs.RemoteRead | verbs.RemoteWrite | verbs.RemoteAtomic

func (d *domain) RegisterMR(mem *verbs.Memory, access verbs.Access) (verbs.MR, error) {
	refuse := func(err error) (verbs.MR, error) {
		return nil, &verbs.OpError{Verb: "register memory", Device: deviceName, Err: err}
	}
	if access&remote != 0 {
		if err := shareable(mem); err != nil {
			return refuse(err)
		}
	}
	if err := d.adopt(); err != nil {
		return nil, err
	}
	r, err := d.host.regions.Register(mem, access, d.number)
	if err != nil {
		d.disown()
		return refuse(err)
	}
	if access&remote != 0 {
		d.host.board.announce(r.Key)
	}
	return &region{Region: r, domain: d}, nil
}

// shareable tells whether memory can be a peer's target.
func shareable(mem *verbs.Memory) error {
	file, offset := mem.File()
	page := uint64(os.Getpagesize())
	switch {
	case file == nil:
		return fmt.Errorf("a peer can only use memory that has a file: %w", verbs.ErrNotSupported)
	case offset < 0 || uint64(offset)%page != mem.Addr()%page:
		return fmt.Errorf("memory at %#x cannot be at %d of its file: %w", mem.Addr(), offset, verbs.ErrInvalid)
	}
	if err := checkFile(file, uint64(offset)+uint64(mem.Size())); err != nil {
		return errors.Join(verbs.ErrNotSupported, err)
	}
	return nil
}

func (r *region) Memory() *verbs.Memory { return r.Mem }
func (r *region) LKey() uint32          { return r.Key }
func (r *region) RKey() uint32          { return r.Key }

func (r *region) SGE(offset, n int) verbs.SGE {
	return verbs.SGE{Addr: r.Addr() + uint64(offset), Length: uint32(n), LKey: r.Key}
}

// Close takes the region from its peers as well. A request that one of them has
// begun is not stopped.
func (r *region) Close() error {
	r.once.Do(func() {
		r.domain.host.board.revoke(r.Key)
		r.domain.host.regions.Remove(r.Region)
		r.domain.disown()
	})
	return nil
}

// describe answers a peer of a QP of that domain which asks for a region: the
// frame, and the file that goes with it, which is the caller's to close: the
// region and its memory may be closed at any moment.
func (o *opened) describe(domain, key uint32) (f frame, file *os.File) {
	r := o.regions.Find(key)
	if r == nil || r.PD != domain || r.Access&remote == 0 {
		f = frame{Key: key}
	} else {
		f, file = o.present(r, r.Access)
	}
	f.Kind, f.From = regionFrame, endpoint{Name: o.name, Type: verbs.RC}
	return f, file
}

// present is a region as a peer that has those rights is told of it.
func (o *opened) present(r *queue.Region, access verbs.Access) (f frame, file *os.File) {
	f, key := frame{Key: r.Key}, r.Key
	generation := atomic.LoadUint64(o.board.slot(key))
	if generation == 0 || o.regions.Find(key) != r {
		return f, nil
	}
	open := duplicate
	if access&(verbs.RemoteWrite|verbs.RemoteAtomic) == 0 {
		open = readOnly
	}
	shared, offset := r.Mem.File()
	file, err := open(shared)
	if err != nil {
		return f, nil
	}
	f.Access, f.Base, f.Size, f.Offset, f.Generation = access, r.Addr(), uint64(r.Mem.Size()), uint64(offset), generation
	f.Times = uint8(r.Len() / r.Mem.Size())
	return f, file
}
