package format_test

import (
	"fmt"
	"os"
	"strings"

	"heddle/fabric/format"
)

func ExampleRead() {
	const net = `switchguid=0x1(1)
Switch	36 "S-0000000000000001"		# "leaf" base port 0 lid 3 lmc 0
[1]	"H-0000000000000010"[1](11) 		# "node1 HCA-1" lid 4 4xHDR
[2]

caguid=0x10
Ca	1 "H-0000000000000010"		# "node1 HCA-1"
[1](11) 	"S-0000000000000001"[1]		# lid 61111 lmc 0 "leaf" lid 3 4xHDR
`
	f, faults, err := format.Read(strings.NewReader(net), "cluster.topo", "")
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, fault := range faults {
		fmt.Println(fault)
	}
	if err := format.Write(os.Stdout, f, "slurm"); err != nil {
		fmt.Println(err)
	}
	// Output:
	// cluster.topo:4: warning: leaf (0x0000000000000001) port 2 has no peer
	// cluster.topo:8: warning: node1 HCA-1 (0x0000000000000010) port 1 states LID 61111, which is not in 1..49151
	// SwitchName=leaf Nodes=node1
}
