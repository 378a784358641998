package mad

import "heddle/ib"

// The speeds of a port stand in four places, for historical reasons: PortInfo
// has LinkSpeed for SDR to QDR, LinkSpeedExt for FDR to NDR, and LinkSpeedExt2
// for XDR; one vendor's FDR10 is in MlnxExtPortInfo. Where a later one is
// active, the earlier ones count no more. PortInfo.LinkRate reads those of
// PortInfo.

// LinkSpeed is a set of the first speeds (IBTA 1, 14.2.5.6: LinkSpeed).
type LinkSpeed uint8

// The bits of LinkSpeed, and what a Set of LinkSpeedEnabled may say beside.
const (
	LinkSpeedNoChange     LinkSpeed = 0
	LinkSpeedSDR          LinkSpeed = 1
	LinkSpeedDDR          LinkSpeed = 2
	LinkSpeedQDR          LinkSpeed = 4
	LinkSpeedAllSupported LinkSpeed = 15
)

// LinkSpeedOf is the set of those of the given speeds that it has bits for.
func LinkSpeedOf(speeds ...ib.Speed) LinkSpeed { return speedSet[LinkSpeed](speeds, ib.SDR, 3) }

// Fastest is the fastest of the set, 0 where no bit of it is known.
func (l LinkSpeed) Fastest() ib.Speed { return fastest(l, ib.SDR, 3) }

// String lists the speeds: SDR|DDR.
func (l LinkSpeed) String() string { return listBits(l, []string{"SDR", "DDR", "QDR"}) }

// LinkSpeedExt is a set of extended speeds (IBTA 1, 14.2.5.6: LinkSpeedExt).
type LinkSpeedExt uint8

// The bits of LinkSpeedExt, and what a Set of LinkSpeedExtEnabled may say
// beside.
const (
	LinkSpeedExtNoChange     LinkSpeedExt = 0
	LinkSpeedExtFDR          LinkSpeedExt = 1
	LinkSpeedExtEDR          LinkSpeedExt = 2
	LinkSpeedExtHDR          LinkSpeedExt = 4
	LinkSpeedExtNDR          LinkSpeedExt = 8
	LinkSpeedExtDisable      LinkSpeedExt = 30
	LinkSpeedExtAllSupported LinkSpeedExt = 31
)

// LinkSpeedExtOf is the set of those of the given speeds that it has bits for.
func LinkSpeedExtOf(speeds ...ib.Speed) LinkSpeedExt {
	return speedSet[LinkSpeedExt](speeds, ib.FDR, 4)
}

// Fastest is the fastest of the set, 0 where no bit of it is known.
func (l LinkSpeedExt) Fastest() ib.Speed { return fastest(l, ib.FDR, 4) }

// String lists the speeds: FDR|EDR.
func (l LinkSpeedExt) String() string { return listBits(l, []string{"FDR", "EDR", "HDR", "NDR"}) }

// LinkSpeedExt2 is the set of the speeds for which LinkSpeedExt has no bits.
type LinkSpeedExt2 uint8

// LinkSpeedExt2XDR is the bit of XDR.
const LinkSpeedExt2XDR LinkSpeedExt2 = 1

// LinkSpeedExt2Of is the set of those of the given speeds that it has bits for.
func LinkSpeedExt2Of(speeds ...ib.Speed) LinkSpeedExt2 {
	return speedSet[LinkSpeedExt2](speeds, ib.XDR, 1)
}

// Fastest is the fastest of the set, 0 where no bit of it is known.
func (l LinkSpeedExt2) Fastest() ib.Speed { return fastest(l, ib.XDR, 1) }

// String lists the speeds: XDR.
func (l LinkSpeedExt2) String() string { return listBits(l, []string{"XDR"}) }

// MlnxLinkSpeed is the set of the speeds that one vendor added.
type MlnxLinkSpeed uint8

// MlnxLinkSpeedFDR10 is the bit of FDR10.
const MlnxLinkSpeedFDR10 MlnxLinkSpeed = 1

// MlnxLinkSpeedOf is the set of those of the given speeds that it has bits for.
func MlnxLinkSpeedOf(speeds ...ib.Speed) MlnxLinkSpeed {
	return speedSet[MlnxLinkSpeed](speeds, ib.FDR10, 1)
}

// Fastest is the fastest of the set, 0 where no bit of it is known.
func (l MlnxLinkSpeed) Fastest() ib.Speed { return fastest(l, ib.FDR10, 1) }

// String lists the speeds: FDR10.
func (l MlnxLinkSpeed) String() string { return listBits(l, []string{"FDR10"}) }

// fastest finds the speed of the highest bit of a set that is known; the speeds
// of the bits follow each other from the first.
func fastest[T ~uint8](set T, first ib.Speed, bits int) ib.Speed {
	for i := bits - 1; i >= 0; i-- {
		if set>>i&1 != 0 {
			return first + ib.Speed(i)
		}
	}
	return 0
}

// speedSet is the set of those speeds that are among the bits from the first.
func speedSet[T ~uint8](speeds []ib.Speed, first ib.Speed, bits int) T {
	var set T
	for _, v := range speeds {
		if v >= first && v < first+ib.Speed(bits) {
			set |= 1 << (v - first)
		}
	}
	return set
}
