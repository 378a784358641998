package ibv

import (
	"sync"

	"heddle/verbs"
)

// Provider is libibverbs. The library is loaded when Devices is called first.
// Its zero value is ready, and any goroutine may call its methods.
type Provider struct {
	// Library is the file to load; libibverbs.so.1 where it is empty.
	Library string

	once sync.Once
	lib  *library
	err  error
}

var _ verbs.Provider = (*Provider)(nil)

// Name is "ibv".
func (p *Provider) Name() string { return "ibv" }

// Devices lists the devices that the kernel has now. The error wraps
// verbs.ErrNoDevice where there is no libibverbs, or one that is not understood.
func (p *Provider) Devices() ([]verbs.Device, error) {
	p.once.Do(func() { p.lib, p.err = load(p.Library) })
	if p.err != nil {
		return nil, p.err
	}
	return p.lib.devices()
}
