package cli

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"heddle/cli/text"
	"heddle/verbs"
)

// text writes what is known of a device.
func (v *deviceView) text(out io.Writer) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "%s/%s\n", v.Provider, v.Device)
	if v.NodeGUID.IsValid() {
		fmt.Fprintf(w, "  node GUID\t%v\n", v.NodeGUID)
	}
	if v.VendorID != 0 {
		fmt.Fprintf(w, "  vendor\t%#06x, part %d\n", v.VendorID, v.PartID)
	}
	if v.Firmware != "" {
		fmt.Fprintf(w, "  firmware\t%s\n", v.Firmware)
	}
	for t := verbs.RC; t <= verbs.UD; t++ {
		if ops := v.Ops[t.String()]; ops != nil {
			fmt.Fprintf(w, "  %v\t%s\n", t, strings.Join(ops, ", "))
		}
	}
	if len(v.Features) > 0 {
		fmt.Fprintf(w, "  also\t%s\n", strings.Join(v.Features, ", "))
	}
	fmt.Fprint(w, "  order\n")
	for _, o := range v.Orders {
		fmt.Fprintf(w, "    %s\t%s\n", o.what, o.said)
	}
	fmt.Fprint(w, "  at most\n")
	for _, l := range v.Limits {
		fmt.Fprintf(w, "    %s\t%s\n", l.Name, text.Thousands(int(l.Value)))
	}
	for i := range v.Ports {
		v.Ports[i].text(w)
	}
	fmt.Fprintln(w)
	return w.Flush()
}

func (p *portView) text(w *tabwriter.Writer) {
	fmt.Fprintf(w, "  port %d\n", p.Port)
	fmt.Fprintf(w, "    state\t%s\n", p.State)
	fmt.Fprintf(w, "    link layer\t%s\n", p.LinkLayer)
	if p.MaxMTU != "" {
		fmt.Fprintf(w, "    MTU\t%s, of %s at most\n", p.ActiveMTU, p.MaxMTU)
	}
	if p.Rate != "" {
		fmt.Fprintf(w, "    rate\t%s\n", p.Rate)
	}
	if p.LID != 0 {
		fmt.Fprintf(w, "    LID\t%v, LMC %d; subnet manager at %v\n", p.LID, p.LMC, p.SMLID)
	}
	for _, g := range p.GIDs {
		device := ""
		if g.Device != "" {
			device = ", " + g.Device
		}
		fmt.Fprintf(w, "    GID %d\t%v (%s%s)\n", g.Index, g.GID, g.Type, device)
	}
}
