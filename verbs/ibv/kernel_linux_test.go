//go:build amd64

package ibv_test

import (
	"os"
	"strings"
	"testing"

	"heddle/internal/testenv"
	"heddle/verbs"
	"heddle/verbs/verbstest"
)

// deviceVariable names the device of the kernel that the tests of this file run
// on, such as rxe0; its ports must be active, and loop packets back. Without it
// they run in a virtual machine, on devices made of software.
const deviceVariable = "HEDDLE_IBV"

type kernelTest struct {
	name string
	run  func(t *testing.T, device string)
}

// kernelTests are the tests that need devices of the kernel.
var kernelTests = []kernelTest{
	{"devices", testDevices},
	{"RC operations", testRC},
	{"UC", testUC},
	{"datagrams", testDatagrams},
	{"multicast", testMulticast},
	{"two processes", testTwoProcesses},
	{"errors", testErrors},
	{"states", testStates},
	{"GIDs", testGIDs},
	{"waiting", testWaiting},
	{"SRQ", testSRQ},
	{"memory windows", testWindows},
	{"overrun", testOverrun},
	{"closing", testClosing},
	{"allocations", testAllocations},
	{"conformance", testConformance},
	{"conformance of two processes", testConformanceTwoProcesses},
	{"dmabuf", testDMABuf},
	{"link events", testLinkEvents},
	{"memory limit", testMemlock},
}

// TestMain serves the far end of the suite in a second process of this program.
func TestMain(m *testing.M) {
	verbstest.Main(func() (verbs.Context, error) { return open(os.Getenv(deviceVariable)) })
	os.Exit(m.Run())
}

func TestKernel(t *testing.T) {
	device := os.Getenv(deviceVariable)
	if device == "" {
		inVM(t)
		return
	}
	for _, test := range kernelTests {
		t.Run(test.name, func(t *testing.T) { test.run(t, device) })
	}
}

// inVM runs the kernel's tests in a virtual machine with a RoCE device of
// software. Debian's kernel has no iWARP device.
func inVM(t *testing.T) {
	output := testenv.OnRXE(t, testenv.VM{Modules: []string{"vgem"}}, deviceVariable, "^TestKernel$")
	t.Log(output)
	for _, test := range kernelTests {
		if !strings.Contains(output, "--- PASS: TestKernel/"+strings.ReplaceAll(test.name, " ", "_")+" (") {
			t.Errorf("%s did not pass in the virtual machine", test.name)
		}
	}
}
