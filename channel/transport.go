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

// Caps are those of the device, with what was asserted.
func (t *Transport) Caps() verbs.Caps { return t.caps }

// Close gives the protection domain back; ends that are still open make it
// fail with ErrBusy.
func (t *Transport) Close() error { return t.pd.Close() }
