package cli

import (
	"errors"
	"fmt"
	"io"
	"slices"

	"heddle/ib"
	"heddle/verbs"

	"github.com/spf13/cobra"
)

func (a *app) verbsDevicesCommand() *cobra.Command {
	var f deviceFlags
	var asJSON bool
	cmd := &cobra.Command{
		Use: "devices", Short: "List RDMA devices, with what may be relied on",
		Long: "List the devices of all providers, or of one: limits, operations, ports, and in\n" +
			"which order bytes and messages come. Behind each order stands how it is known:\n" +
			"the device or its driver was asked (probed), it is made so (by construction), or\n" +
			"you assert it with --assume. Nothing is concluded from a device's name.\n\n" + deviceHelp,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error { return a.verbsDevices(f, asJSON) },
	}
	f.flags(cmd, "")
	cmd.Flags().BoolVar(&asJSON, "json", false, "write one JSON object a line")
	return cmd
}

func (a *app) verbsDevices(f deviceFlags, asJSON bool) error {
	assume, err := assumptions(f.assume)
	if err != nil {
		return err
	}
	list, err := a.devicesOf(f)
	if err != nil {
		return err
	}
	return buffered(a.out, func(w io.Writer) error {
		for _, d := range list {
			view, err := viewOf(d, assume)
			if err != nil {
				return fmt.Errorf("%s/%s: %w", d.provider, d.Name(), err)
			}
			if asJSON {
				err = writeJSON(w, view)
			} else {
				err = view.text(w)
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// namedDevice is a device with its provider's name.
type namedDevice struct {
	verbs.Device
	provider string
}

// devicesOf lists what is meant. Where no provider is named, one that is not
// there is told of, and no error.
func (a *app) devicesOf(f deviceFlags) (list []namedDevice, err error) {
	kinds := providers()
	if f.provider != "" {
		p, err := provider(f.provider)
		if err != nil {
			return nil, err
		}
		kinds = []verbs.Provider{p}
	}
	for _, p := range kinds {
		devices, err := p.Devices()
		switch {
		case absent(err) && f.provider == "":
			fmt.Fprintf(a.err, "%s: %v\n", p.Name(), err)
		case err != nil:
			return nil, fmt.Errorf("%s: %w", p.Name(), err)
		}
		for _, d := range devices {
			if f.device == "" || d.Name() == f.device {
				list = append(list, namedDevice{d, p.Name()})
			}
		}
	}
	if list == nil && (f.provider != "" || f.device != "") {
		return nil, fmt.Errorf("%s/%s: %w", f.provider, f.device, verbs.ErrNoDevice)
	}
	return list, nil
}

// deviceView is a device as it is shown.
type deviceView struct {
	Provider string              `json:"provider"`
	Device   string              `json:"device"`
	NodeGUID ib.GUID             `json:"nodeGUID"`
	VendorID uint32              `json:"vendorID"`
	PartID   uint32              `json:"partID"`
	Firmware string              `json:"firmware"`
	Ops      map[string][]string `json:"operations"` // by service
	Limits   []limitView         `json:"limits"`
	Features []string            `json:"features"`
	Orders   []orderView         `json:"orders"`
	Ports    []portView          `json:"ports"`
}

type limitView struct {
	Name  string `json:"name"`
	Value uint64 `json:"value"`
}

// orderView is something that may, or may not, be relied on.
type orderView struct {
	Name   string `json:"name"`
	Holds  bool   `json:"holds"`
	Chunk  int    `json:"chunk,omitempty"` // bytes, of the order of bytes
	Last   int    `json:"last,omitempty"`
	Origin string `json:"origin"`
	what   string // for people
	said   string
}

type portView struct {
	Port       int       `json:"port"`
	State      string    `json:"state"`
	LinkLayer  string    `json:"linkLayer"`
	MaxMTU     string    `json:"maxMTU,omitempty"`
	ActiveMTU  string    `json:"activeMTU,omitempty"`
	LID        ib.LID    `json:"lid"`
	SMLID      ib.LID    `json:"smLID"`
	LMC        uint8     `json:"lmc"`
	Rate       string    `json:"rate,omitempty"`
	PKeys      int       `json:"pKeys"`
	MaxMessage uint32    `json:"maxMessage"`
	GIDs       []gidView `json:"gids"`
}

type gidView struct {
	Index  int    `json:"index"`
	GID    ib.GID `json:"gid"`
	Type   string `json:"type"`
	Device string `json:"device,omitempty"`
}

// viewOf opens a device and looks.
func viewOf(d namedDevice, assume []verbs.Assumption) (v deviceView, err error) {
	dev, err := d.Open()
	if err != nil {
		return v, err
	}
	defer func() { err = errors.Join(err, dev.Close()) }()
	attr, caps := dev.Attr(), dev.Caps().Assume(assume...)
	v = deviceView{
		Provider: d.provider, Device: d.Name(), NodeGUID: attr.NodeGUID, VendorID: attr.VendorID, PartID: attr.PartID,
		Firmware: attr.Firmware, Ops: map[string][]string{}, Limits: limitsOf(&attr, &caps), Features: featuresOf(&caps), Orders: ordersOf(&caps),
	}
	for t, ops := range caps.Ops {
		if ops != 0 {
			v.Ops[verbs.QPType(t).String()] = ops.List()
		}
	}
	for port := 1; port <= int(attr.Ports); port++ {
		p, err := portOf(dev, uint8(port))
		if err != nil {
			return v, err
		}
		v.Ports = append(v.Ports, p)
	}
	return v, nil
}

func limitsOf(a *verbs.DeviceAttr, c *verbs.Caps) []limitView {
	list := []limitView{
		{"QPs", uint64(a.MaxQP)},
		{"CQs", uint64(a.MaxCQ)},
		{"MRs", uint64(a.MaxMR)},
		{"PDs", uint64(a.MaxPD)},
		{"SRQs", uint64(a.MaxSRQ)},
		{"AHs", uint64(a.MaxAH)},
		{"requests of a QP", uint64(a.MaxQPWR)},
		{"requests of an SRQ", uint64(a.MaxSRQWR)},
		{"completions of a CQ", uint64(a.MaxCQE)},
		{"SGEs of a request", uint64(a.MaxSGE)},
		{"inline bytes", uint64(a.MaxInline)},
		{"bytes of an MR", a.MaxMRSize},
		{"memory windows", uint64(a.MaxMW)},
		{"bytes of device memory", uint64(a.MaxDM)},
		{"bytes of a message", uint64(c.MaxMessage)},
		{"READs and atomics under way, as target", uint64(a.MaxReads)},
		{"READs and atomics under way, as initiator", uint64(a.MaxReadsInit)},
	}
	return slices.DeleteFunc(list, func(l limitView) bool { return l.Value == 0 })
}

func featuresOf(c *verbs.Caps) []string {
	list := []string{}
	for _, f := range []struct {
		name string
		has  bool
	}{
		{"SRQ", c.SRQ},
		{"multicast", c.Multicast},
		{"multicast without the sender's own copy", c.BlockLoopback},
		{"memory windows of type 1", c.Windows1},
		{"memory windows of type 2", c.Windows2},
		{"device memory", c.DeviceMemory},
		{"death of a peer seen at once", c.PeerGone},
	} {
		if f.has {
			list = append(list, f.name)
		}
	}
	return list
}

func ordersOf(c *verbs.Caps) []orderView {
	bytes := func(name, what string, o verbs.ByteOrder) orderView {
		chunk := o.Chunk
		if o.Ascending() {
			chunk = 0 // all
		}
		return orderView{name, o.Ordered(), chunk, o.Last, o.Origin.String(), what, o.String()}
	}
	promise := func(name, what string, p verbs.Promise) orderView {
		return orderView{Name: name, Holds: p.Holds, Origin: p.Origin.String(), what: what, said: p.String()}
	}
	return []orderView{
		bytes("write", "bytes of a WRITE", c.WriteOrder),
		bytes("fetch", "bytes of a READ", c.FetchOrder),
		promise("placement", "a WRITE is placed before the next", c.PlacementOrder),
		promise("completion", "a receive completes after all before it", c.CompletionOrder),
		promise("delivery", "SENDs come in order", c.DeliveryOrder),
		promise("atomics with CPU", "atomics with the CPU's", c.AtomicsWithCPU),
	}
}

func portOf(dev verbs.Context, number uint8) (v portView, err error) {
	p, err := dev.Port(number)
	if err != nil {
		return v, err
	}
	v = portView{
		Port: int(number), State: p.State.String(), LinkLayer: p.LinkLayer.String(), LID: p.LID, SMLID: p.SMLID, LMC: p.LMC,
		PKeys: p.PKeys, MaxMessage: p.MaxMessage, GIDs: []gidView{},
	}
	if p.MaxMTU.IsValid() {
		v.MaxMTU, v.ActiveMTU = p.MaxMTU.String(), p.ActiveMTU.String()
	}
	if p.Rate.IsValid() {
		v.Rate = fmt.Sprintf("%g Gb/s (%v)", p.Rate.Gbps(), p.Rate)
	}
	for i := range p.GIDs {
		g, err := dev.GID(number, i)
		switch {
		case errors.Is(err, verbs.ErrNotFound):
		case err != nil:
			return v, err
		case g.GID.IsValid():
			v.GIDs = append(v.GIDs, gidView{i, g.GID, g.Type.String(), g.Device})
		}
	}
	return v, nil
}
