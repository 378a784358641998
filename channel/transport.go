package channel

import (
	"fmt"

	"heddle/verbs"
)

// Transport is a device that channels are made on. All methods may be called by
// any goroutine.
type Transport struct {
	dev  verbs.Context
	pd   verbs.PD
	caps verbs.Caps
	wait *poller
	path verbs.Path // that queue pairs go by; zero leaves it to the device
}

// NewTransport makes channels on an opened device. What the device does not tell
// of its orders, and the caller knows, the caller may assert. The device stays
// the caller's, and is closed after the transport.
func NewTransport(dev verbs.Context, assume ...verbs.Assumption) (*Transport, error) {
	pd, err := dev.AllocPD()
	if err != nil {
		return nil, fmt.Errorf("transport on %s: %w", dev.Name(), err)
	}
	return &Transport{dev: dev, pd: pd, caps: dev.Caps().Assume(assume...), wait: newPoller(dev)}, nil
}

// NewTransportOn is NewTransport for channels that go by a path, such as
// cm.Manager's Resolve finds it for an address: by its port, its GID, its P_Key and
// its service level.
func NewTransportOn(dev verbs.Context, path verbs.Path, assume ...verbs.Assumption) (*Transport, error) {
	t, err := NewTransport(dev, assume...)
	if err == nil {
		t.path = path
	}
	return t, err
}

// Caps are those of the device, with what was asserted.
func (t *Transport) Caps() verbs.Caps { return t.caps }

// Close gives the protection domain back; ends that are still open make it
// fail with ErrBusy.
func (t *Transport) Close() error { return t.pd.Close() }
