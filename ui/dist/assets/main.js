const root = document.getElementById("root");
const link = document.createElement("a");
link.href = "/api/docs";
link.textContent = "Pawl: the UI is not part of this build; the API is described here";
root.append(link);
