//go:build linux && (amd64 || arm64)

package ibv

import (
	"errors"
	"math/bits"
	"net"
	"syscall"
	"unsafe"

	"heddle/ib"
	"heddle/verbs"
)

// Port tells how a port is. The error of one that is not there wraps
// verbs.ErrNotFound.
func (c *deviceContext) Port(number uint8) (a verbs.PortAttr, err error) {
	err = c.life.use(func() (err error) {
		a, err = c.port(number)
		return err
	})
	return a, c.failed("query port", err)
}

func (c *deviceContext) port(number uint8) (verbs.PortAttr, error) {
	if number < 1 || number > c.attr.Ports {
		return verbs.PortAttr{}, &verbs.OpError{Verb: "query port", Device: c.name, Got: int(number), Limit: int(c.attr.Ports), Err: verbs.ErrNotFound}
	}
	a := new(ibvPortAttr)
	if err := failure(invoke(c.lib, c.lib.queryPort, ptr(c.c), uintptr(number), uintptr(unsafe.Pointer(a)))); err != nil {
		return verbs.PortAttr{}, err
	}
	link, ok := map[uint8]verbs.LinkLayer{
		0: verbs.LinkInfiniBand, linkInfiniBand: verbs.LinkInfiniBand, linkEthernet: verbs.LinkEthernet,
	}[a.LinkLayer]
	mtu := ib.MTU(a.ActiveMTU)
	if err := consistent(ok && mtu.IsValid() && a.State <= 5 && a.GIDs >= 0, "ibv_port_attr"); err != nil {
		return verbs.PortAttr{}, err
	}
	return verbs.PortAttr{
		State: portState(a.State), LinkLayer: link, MaxMTU: ib.MTU(a.MaxMTU), ActiveMTU: mtu,
		LID: ib.LID(a.LID), SMLID: ib.LID(a.SMLID), LMC: a.LMC, GIDs: int(a.GIDs), PKeys: int(a.PKeys),
		Rate:       ib.LinkRate{Width: ib.WidthFromCode(a.Width), Speed: linkSpeed(a.Speed)},
		MaxMessage: a.MaxMsg,
	}, nil
}

// portState is the number of libibverbs, which has one more, for active.
func portState(n uint32) verbs.PortState { return min(verbs.PortState(n), verbs.PortActive) }

// linkSpeed is a speed by its bit in a port's attributes: SDR, DDR, QDR, FDR10,
// FDR, EDR, HDR, NDR from the lowest one on.
func linkSpeed(code uint8) ib.Speed {
	if bits.OnesCount8(code) != 1 {
		return 0
	}
	return ib.SDR + ib.Speed(bits.TrailingZeros8(code))
}

// GID is an entry of a port's table.
func (c *deviceContext) GID(port uint8, index int) (e verbs.GIDEntry, err error) {
	err = c.life.use(func() error {
		a, err := c.port(port)
		if err != nil {
			return err
		}
		if index < 0 || index >= a.GIDs {
			return &verbs.OpError{Verb: "query GID", Device: c.name, Got: index, Limit: a.GIDs - 1, Err: verbs.ErrNotFound}
		}
		raw := new(ibvGIDEntry)
		err = failure(invoke(c.lib, c.lib.queryGIDEx, ptr(c.c), uintptr(port), uintptr(index), uintptr(unsafe.Pointer(raw)), 0, unsafe.Sizeof(*raw)))
		if errors.Is(err, syscall.ENODATA) {
			return verbs.ErrNotFound
		}
		e = gidEntry(raw)
		return err
	})
	return e, c.failed("query GID", err)
}

// gidEntry puts an entry in the words of package verbs.
func gidEntry(raw *ibvGIDEntry) verbs.GIDEntry {
	e := verbs.GIDEntry{GID: raw.GID, Index: int(raw.Index), Type: verbs.GIDInfiniBand + verbs.GIDType(raw.Type)}
	if raw.IfIndex != 0 {
		if i, err := net.InterfaceByIndex(int(raw.IfIndex)); err == nil {
			e.Device = i.Name
		}
	}
	return e
}

// gids reads the table of a port, without what is empty.
func (c *deviceContext) gids(port uint8, size int) (table []verbs.GIDEntry, err error) {
	raw := make([]ibvGIDEntry, max(1, size*int(c.attr.Ports)))
	ret, errno := invoke(c.lib, c.lib.queryGIDTable, ptr(c.c), uintptr(unsafe.Pointer(&raw[0])), uintptr(len(raw)), 0, unsafe.Sizeof(raw[0]))
	if n := int32(ret); n < 0 || int(n) > len(raw) {
		return nil, errors.Join(syscall.Errno(-n), errno)
	}
	for i := range raw[:int32(ret)] {
		if raw[i].Port == uint32(port) {
			table = append(table, gidEntry(&raw[i]))
		}
	}
	return table, nil
}

// chooseGID looks for the GID that packets of a port leave by.
func (c *deviceContext) chooseGID(port uint8, wish gidWish) (verbs.GIDEntry, verbs.PortAttr, error) {
	a, err := c.port(port)
	if err != nil {
		return verbs.GIDEntry{}, a, err
	}
	table, err := c.gids(port, a.GIDs)
	if err != nil {
		return verbs.GIDEntry{}, a, err
	}
	e, err := chooseGID(table, a.LinkLayer, wish)
	return e, a, err
}

// pkeyIndex is where a P_Key is in a port's table; of 0, the first valid one.
func (c *deviceContext) pkeyIndex(port uint8, size int, key ib.PKey) (uint16, error) {
	for i := range size {
		raw := new([2]byte) // in the wire's order
		if err := failure(invoke(c.lib, c.lib.queryPKey, ptr(c.c), uintptr(port), uintptr(i), uintptr(unsafe.Pointer(raw)))); err != nil {
			return 0, err
		}
		got := ib.PKey(raw[0])<<8 | ib.PKey(raw[1])
		if key == 0 && got.IsValid() || key != 0 && got == key {
			return uint16(i), nil
		}
	}
	if key == 0 {
		return 0, nil // iWARP has none
	}
	return 0, &verbs.OpError{Verb: "P_Key " + key.String(), Device: c.name, Err: verbs.ErrNotFound}
}
