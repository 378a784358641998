package ib_test

import (
	"errors"
	"fmt"
	"net/netip"

	"heddle/ib"
)

// The parts of a line of ibnetdiscover become values.
func Example() {
	guid, _ := ib.ParseGUID("2c90300001234")
	lid, _ := ib.ParseLID("15")
	rate, _ := ib.ParseLinkRate("4xHDR")
	fmt.Println(guid, lid, rate, rate.Gbps(), "Gb/s")

	_, err := ib.ParseLID("61111")
	fmt.Println(err)
	fmt.Println(errors.Is(err, ib.ErrRange))
	// Output:
	// 0x0002c90300001234 15 4xHDR 200 Gb/s
	// LID "61111" is out of range: want 1 to 49151 (0xbfff)
	// true
}

func ExampleIPoIBMGID() {
	mgid, err := ib.IPoIBMGID(ib.ScopeLinkLocal, ib.DefaultPKey, netip.MustParseAddr("239.1.2.3"))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(mgid, mgid.Scope(), mgid.PKey())
	// Output: ff12:401b:ffff::f01:203 link-local 0xffff
}

func ExamplePKey_Matches() {
	limited, full := ib.PKey(0x2a00), ib.PKey(0xaa00)
	fmt.Println(full.Matches(limited), limited.Matches(limited))
	// Output: true false
}

// A bare number up to 24 is a code of the standard; with a unit it is a rate.
func ExampleParseRate() {
	code, _ := ib.ParseRate("10")
	rate, _ := ib.ParseRate("10 Gb/s")
	fmt.Println(code, "/", rate)
	// Output: 120 Gb/s / 10 Gb/s
}
